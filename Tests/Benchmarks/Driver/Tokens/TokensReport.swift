import Workbench

/// The result of `belfry-bench run tokens`.
struct TokensReport {
    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, tokens, lookups, notifications, rounds: What was measured; look-ups and notifications of a round.
        bytes_per_token: Of Redis' memory, all overhead included: 64.
        lookup_rate, raw_rate, lookup_ratio: Look-ups a second through the pipeline's client; raw pipelined HGETs of \
        the same fields; their ratio: 0.9.
        filter_rate, plain_rate, filter_ratio, filter_cpu_us, plain_cpu_us: Sending with the filter of dead tokens, \
        and without token state; the ratio of the rates: 0.9.
        """
    )

    let tokens: Int
    let lookups: Int
    let notifications: Int
    /// Of Redis' memory, all overhead included.
    var bytesPerToken = 0.0
    /// Per second, through the pipeline's client.
    var lookUpRate = Samples()
    /// Per second, raw pipelined HGETs of the same fields.
    var rawRate = Samples()
    /// The worker with a filter, and as its floor the one without token state.
    var sending: WorkerReport?

    var lookUpRatio: Double { lookUpRate.medianRatio(to: rawRate) }

    private var worker: ContenderSamples { sending?[.worker].samples ?? ContenderSamples() }
    private var plain: ContenderSamples { sending?[.floor].samples ?? ContenderSamples() }

    var filterRatio: Double { worker.rate.medianRatio(to: plain.rate) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (bytesPerToken > 0 && bytesPerToken <= 64, "64 bytes a token"),
            (lookUpRatio >= 0.9, "0.9 of the rate of raw HGETs"),
            (filterRatio >= 0.9, "0.9 of the rate of sending without token state"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: "tokens")
        line.add("tokens", tokens)
        line.add("lookups", lookups)
        line.add("notifications", notifications)
        line.add("rounds", rawRate.values.count)
        line.add("bytes_per_token", bytesPerToken, digits: 1)
        line.add("lookup_rate", lookUpRate, digits: 0)
        line.add("raw_rate", rawRate, digits: 0)
        line.add("lookup_ratio", lookUpRatio, digits: 2)
        line.add("filter_rate", worker.rate.median, digits: 0)
        line.add("plain_rate", plain.rate.median, digits: 0)
        line.add("filter_cpu_us", worker.cpuMicroseconds.median, digits: 3)
        line.add("plain_cpu_us", plain.cpuMicroseconds.median, digits: 3)
        line.add("filter_ratio", filterRatio, digits: 2)
        return try line.text()
    }
}
