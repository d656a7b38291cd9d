import Foundation

/// Measurements of one run of a publisher.
struct PublisherRun: Equatable {
    /// By the clock on the wall.
    var seconds: Double
    /// Of all its threads, user and system.
    var cpuMicroseconds: Double
    /// The largest resident set; 0: not measured.
    var peakMiB = 0.0
}

/// Measurements of one publisher, over the rounds.
struct PublisherSamples {
    /// Tokens a second by the clock on the wall.
    var rate = Samples()
    /// Tokens by seconds of CPU time.
    var perSecondCore = Samples()
    /// Of the largest run.
    private(set) var peakMiB = 0.0

    mutating func add(_ run: PublisherRun, tokens: Int) {
        rate.add(Double(tokens) / run.seconds)
        perSecondCore.add(Double(tokens) / (run.cpuMicroseconds / 1e6))
        peakMiB = max(peakMiB, run.peakMiB)
    }
}

/// The result of `belfry-bench publish`.
struct PublishReport {
    /// In each file of tokens.
    let tokens: Int
    /// `belfry publish` of a file of hexadecimal lines, which is what people have.
    var lines = PublisherSamples()
    /// `belfry publish` of a packed file.
    var packed = PublisherSamples()
    /// The bare loop, over records of one token each.
    var loop = PublisherSamples()
    /// The bare loop, over records of as many tokens as `belfry publish` puts into one.
    var batchedLoop = PublisherSamples()
    /// Of the worker that sends in languages.
    var languages: LanguagesReport

    /// The rate of `belfry publish` as a multiple of the loop's over records of one token each.
    var ratio: Double { lines.rate.medianRatio(to: loop.rate) }

    /// The same beside records of 500 tokens, which somebody else has read, checked and cut.
    var batchedRatio: Double { lines.rate.medianRatio(to: batchedLoop.rate) }

    /// The largest resident set of all runs, in MiB.
    var peakMiB: Double { max(lines.peakMiB, packed.peakMiB) }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (lines.perSecondCore.median >= 1_000_000, "1,000,000 tokens by second and core, of lines"),
            (packed.perSecondCore.median >= 1_000_000, "1,000,000 tokens by second and core, packed"),
            (ratio >= 0.7, "0.7 times the rate of the bare loop"),
            (peakMiB <= 128, "128 MiB of memory"),
        ]
        return targets.filter { !$0.isMet }.map(\.name) + languages.missedTargets
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        func whole(_ values: [Double]) -> [Decimal] { values.map { rounded($0, digits: 0) } }
        let fields = Fields(
            scenario: "publish",
            passed: missedTargets.isEmpty,
            missed: missedTargets,
            tokens: tokens,
            rounds: lines.rate.values.count,
            perSecondCore: rounded(lines.perSecondCore.median, digits: 0),
            perSecondCoreSpread: whole(lines.perSecondCore.spread),
            packedPerSecondCore: rounded(packed.perSecondCore.median, digits: 0),
            packedPerSecondCoreSpread: whole(packed.perSecondCore.spread),
            rate: rounded(lines.rate.median, digits: 0),
            rateSpread: whole(lines.rate.spread),
            packedRate: rounded(packed.rate.median, digits: 0),
            packedRateSpread: whole(packed.rate.spread),
            loopRate: rounded(loop.rate.median, digits: 0),
            loopRateSpread: whole(loop.rate.spread),
            ratio: rounded(ratio, digits: 2),
            batchedLoopRate: rounded(batchedLoop.rate.median, digits: 0),
            batchedLoopRateSpread: whole(batchedLoop.rate.spread),
            batchedRatio: rounded(batchedRatio, digits: 2),
            peakMiB: rounded(peakMiB, digits: 1),
            languages: languages.languages,
            notifications: languages.notifications,
            languagesRate: rounded(languages.many.rate.median, digits: 0),
            languagesRateSpread: whole(languages.many.rate.spread),
            oneLanguageRate: rounded(languages.one.rate.median, digits: 0),
            oneLanguageRateSpread: whole(languages.one.rate.spread),
            languagesRatio: rounded(languages.ratio, digits: 3),
            languagesCPU: rounded(languages.many.cpuMicroseconds.median, digits: 3),
            oneLanguageCPU: rounded(languages.one.cpuMicroseconds.median, digits: 3),
            languagesCPURatio: rounded(languages.cpuRatio, digits: 3)
        )
        return try jsonLine(fields)
    }

    private struct Fields: Encodable {
        let scenario: String
        let passed: Bool
        let missed: [String]
        let tokens: Int
        let rounds: Int
        let perSecondCore: Decimal
        let perSecondCoreSpread: [Decimal]
        let packedPerSecondCore: Decimal
        let packedPerSecondCoreSpread: [Decimal]
        let rate: Decimal
        let rateSpread: [Decimal]
        let packedRate: Decimal
        let packedRateSpread: [Decimal]
        let loopRate: Decimal
        let loopRateSpread: [Decimal]
        let ratio: Decimal
        let batchedLoopRate: Decimal
        let batchedLoopRateSpread: [Decimal]
        let batchedRatio: Decimal
        let peakMiB: Decimal
        let languages: Int
        let notifications: Int
        let languagesRate: Decimal
        let languagesRateSpread: [Decimal]
        let oneLanguageRate: Decimal
        let oneLanguageRateSpread: [Decimal]
        let languagesRatio: Decimal
        let languagesCPU: Decimal
        let oneLanguageCPU: Decimal
        let languagesCPURatio: Decimal

        enum CodingKeys: String, CodingKey {
            case scenario, passed, missed, tokens, rounds, rate, ratio, languages, notifications
            case perSecondCore = "tokens_per_second_core"
            case perSecondCoreSpread = "tokens_per_second_core_spread"
            case packedPerSecondCore = "packed_tokens_per_second_core"
            case packedPerSecondCoreSpread = "packed_tokens_per_second_core_spread"
            case rateSpread = "rate_spread"
            case packedRate = "packed_rate"
            case packedRateSpread = "packed_rate_spread"
            case loopRate = "loop_rate"
            case loopRateSpread = "loop_rate_spread"
            case batchedLoopRate = "batched_loop_rate"
            case batchedLoopRateSpread = "batched_loop_rate_spread"
            case batchedRatio = "batched_ratio"
            case peakMiB = "peak_memory_mib"
            case languagesRate = "languages_rate"
            case languagesRateSpread = "languages_rate_spread"
            case oneLanguageRate = "one_language_rate"
            case oneLanguageRateSpread = "one_language_rate_spread"
            case languagesRatio = "languages_ratio"
            case languagesCPU = "languages_cpu_us"
            case oneLanguageCPU = "one_language_cpu_us"
            case languagesCPURatio = "languages_cpu_ratio"
        }
    }
}
