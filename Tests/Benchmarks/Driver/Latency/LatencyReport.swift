import Workbench

/// The result of `belfry-bench run latency`.
struct LatencyReport {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, rounds, seconds, partitions: What was measured.
        p50_ms, p99_ms, p999_ms: From the hand-over to the sink's read: the time that so large a share of the \
        notifications keeps.
        floor_p50_ms, floor_p99_ms, floor_p999_ms: From there to the consumer.
        p50_difference_ms, p99_difference_ms: Median of the rounds' differences between the two: 2; 10.
        late_p99_ms: Of the publisher: from when a record was due until it was handed over.
        rate_offered, rate: Notifications a second that were handed over, and that arrived: 0.99 of --rate.
        worker_cpu_us: The worker's CPU microseconds per notification, at this rate.
        passed, missed: The judgement, and the targets that were missed.
        """
    )

    /// Notifications a second that the publisher was to keep.
    let rateWanted: Int
    let seconds: Int
    let partitions: Int
    /// From the hand-over at the publisher to the end of the sink's read.
    var worker = LatencySamples()
    /// From there to the bare consumer.
    var floor = LatencySamples()
    /// Lateness of the publisher: from when a record was due until it was handed over.
    var lateness = LatencySamples()
    /// Notifications a second, as they were handed over.
    var rateOffered = Samples()
    /// Notifications a second at the sink, from the first to the last.
    var rate = Samples()
    /// The worker's CPU microseconds per notification.
    var cpuMicroseconds = Samples()

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (worker.p50.medianDifference(to: floor.p50) <= 2, "p50 of the floor and 2 ms"),
            (worker.p99.medianDifference(to: floor.p99) <= 10, "p99 of the floor and 10 ms"),
            (rateOffered.median >= 0.99 * Double(rateWanted), "a publisher that keeps the rate"),
            (rate.median >= 0.99 * Double(rateWanted), "the rate at the gateway"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: "latency")
        line.judge(missed: missedTargets)
        line.add("rounds", rate.values.count)
        line.add("seconds", seconds)
        line.add("partitions", partitions)
        for (prefix, latency) in [("", worker), ("floor_", floor)] {
            line.add("\(prefix)p50_ms", latency.p50, digits: 3)
            line.add("\(prefix)p99_ms", latency.p99, digits: 3)
            line.add("\(prefix)p999_ms", latency.p999, digits: 3)
        }
        line.add("p50_difference_ms", worker.p50.medianDifference(to: floor.p50), digits: 3)
        line.add("p99_difference_ms", worker.p99.medianDifference(to: floor.p99), digits: 3)
        line.add("late_p99_ms", lateness.p99.median, digits: 3)
        line.add("rate_offered", rateOffered, digits: 0)
        line.add("rate", rate, digits: 0)
        line.add("worker_cpu_us", cpuMicroseconds, digits: 3)
        return try line.text()
    }
}
