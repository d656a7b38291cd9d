import Foundation

/// The result of `belfry-bench latency`.
struct LatencyReport {
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
        func milliseconds(_ samples: Samples) -> Decimal { rounded(samples.median, digits: 3) }
        func spread(_ samples: Samples) -> [Decimal] { samples.spread.map { rounded($0, digits: 3) } }
        let fields = Fields(
            scenario: "latency",
            passed: missedTargets.isEmpty,
            missed: missedTargets,
            rounds: rate.values.count,
            seconds: seconds,
            partitions: partitions,
            p50: milliseconds(worker.p50),
            p50Spread: spread(worker.p50),
            p99: milliseconds(worker.p99),
            p99Spread: spread(worker.p99),
            p999: milliseconds(worker.p999),
            p999Spread: spread(worker.p999),
            floorP50: milliseconds(floor.p50),
            floorP50Spread: spread(floor.p50),
            floorP99: milliseconds(floor.p99),
            floorP99Spread: spread(floor.p99),
            floorP999: milliseconds(floor.p999),
            floorP999Spread: spread(floor.p999),
            p50Difference: rounded(worker.p50.medianDifference(to: floor.p50), digits: 3),
            p99Difference: rounded(worker.p99.medianDifference(to: floor.p99), digits: 3),
            lateP99: milliseconds(lateness.p99),
            rateOffered: rounded(rateOffered.median, digits: 0),
            rateOfferedSpread: rateOffered.spread.map { rounded($0, digits: 0) },
            rate: rounded(rate.median, digits: 0),
            rateSpread: rate.spread.map { rounded($0, digits: 0) },
            workerCPU: rounded(cpuMicroseconds.median, digits: 3),
            workerCPUSpread: cpuMicroseconds.spread.map { rounded($0, digits: 3) }
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let passed: Bool
        let missed: [String]
        let rounds: Int
        let seconds: Int
        let partitions: Int
        let p50: Decimal
        let p50Spread: [Decimal]
        let p99: Decimal
        let p99Spread: [Decimal]
        let p999: Decimal
        let p999Spread: [Decimal]
        let floorP50: Decimal
        let floorP50Spread: [Decimal]
        let floorP99: Decimal
        let floorP99Spread: [Decimal]
        let floorP999: Decimal
        let floorP999Spread: [Decimal]
        let p50Difference: Decimal
        let p99Difference: Decimal
        let lateP99: Decimal
        let rateOffered: Decimal
        let rateOfferedSpread: [Decimal]
        let rate: Decimal
        let rateSpread: [Decimal]
        let workerCPU: Decimal
        let workerCPUSpread: [Decimal]

        enum CodingKeys: String, CodingKey {
            case scenario, passed, missed, rounds, seconds, partitions, rate
            case p50 = "p50_ms"
            case p50Spread = "p50_ms_spread"
            case p99 = "p99_ms"
            case p99Spread = "p99_ms_spread"
            case p999 = "p999_ms"
            case p999Spread = "p999_ms_spread"
            case floorP50 = "floor_p50_ms"
            case floorP50Spread = "floor_p50_ms_spread"
            case floorP99 = "floor_p99_ms"
            case floorP99Spread = "floor_p99_ms_spread"
            case floorP999 = "floor_p999_ms"
            case floorP999Spread = "floor_p999_ms_spread"
            case p50Difference = "p50_difference_ms"
            case p99Difference = "p99_difference_ms"
            case lateP99 = "late_p99_ms"
            case rateOffered = "rate_offered"
            case rateOfferedSpread = "rate_offered_spread"
            case rateSpread = "rate_spread"
            case workerCPU = "worker_cpu_us"
            case workerCPUSpread = "worker_cpu_us_spread"
        }
    }
}
