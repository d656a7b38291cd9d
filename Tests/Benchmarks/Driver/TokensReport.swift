import Foundation

/// The result of `belfry-bench tokens`.
struct TokensReport {
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
        let fields = Fields(
            scenario: "tokens",
            tokens: tokens,
            lookups: lookups,
            notifications: notifications,
            rounds: rawRate.values.count,
            bytesPerToken: rounded(bytesPerToken, digits: 1),
            lookUpRate: rounded(lookUpRate.median, digits: 0),
            lookUpRateSpread: lookUpRate.spread.map { rounded($0, digits: 0) },
            rawRate: rounded(rawRate.median, digits: 0),
            rawRateSpread: rawRate.spread.map { rounded($0, digits: 0) },
            lookUpRatio: rounded(lookUpRatio, digits: 2),
            filterRate: rounded(worker.rate.median, digits: 0),
            plainRate: rounded(plain.rate.median, digits: 0),
            filterCPU: rounded(worker.cpuMicroseconds.median, digits: 3),
            plainCPU: rounded(plain.cpuMicroseconds.median, digits: 3),
            filterRatio: rounded(filterRatio, digits: 2)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let tokens: Int
        let lookups: Int
        let notifications: Int
        let rounds: Int
        let bytesPerToken: Decimal
        let lookUpRate: Decimal
        let lookUpRateSpread: [Decimal]
        let rawRate: Decimal
        let rawRateSpread: [Decimal]
        let lookUpRatio: Decimal
        let filterRate: Decimal
        let plainRate: Decimal
        let filterCPU: Decimal
        let plainCPU: Decimal
        let filterRatio: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario
            case tokens
            case lookups
            case notifications
            case rounds
            case bytesPerToken = "bytes_per_token"
            case lookUpRate = "lookup_rate"
            case lookUpRateSpread = "lookup_rate_spread"
            case rawRate = "raw_rate"
            case rawRateSpread = "raw_rate_spread"
            case lookUpRatio = "lookup_ratio"
            case filterRate = "filter_rate"
            case plainRate = "plain_rate"
            case filterCPU = "filter_cpu_us"
            case plainCPU = "plain_cpu_us"
            case filterRatio = "filter_ratio"
        }
    }
}
