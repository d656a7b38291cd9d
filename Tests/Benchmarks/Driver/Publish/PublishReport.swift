import Workbench

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

/// The result of `belfry-bench run publish`.
struct PublishReport {
    /// The fields for the help, beside those of ``LanguagesReport``.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, tokens, rounds: What was measured; tokens of each file.
        tokens_per_second_core, packed_tokens_per_second_core: Tokens of belfry publish by seconds of CPU time of all \
        its threads, of a file of lines and of a packed one: 1,000,000 each.
        rate, packed_rate: By the clock on the wall.
        loop_rate, ratio: Tokens a second of the loop, whose records have one token each; rate against that: 0.7.
        batched_loop_rate, batched_ratio: The same with 500 tokens a record, as belfry publish makes them: the \
        distance to a publisher that has nothing to read, check or cut.
        peak_memory_mib: The largest resident set of belfry publish: 128.
        """
    )

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
        var line = ResultLine(scenario: "publish")
        line.judge(missed: missedTargets)
        line.add("tokens", tokens)
        line.add("rounds", lines.rate.values.count)
        line.add("tokens_per_second_core", lines.perSecondCore, digits: 0)
        line.add("packed_tokens_per_second_core", packed.perSecondCore, digits: 0)
        line.add("rate", lines.rate, digits: 0)
        line.add("packed_rate", packed.rate, digits: 0)
        line.add("loop_rate", loop.rate, digits: 0)
        line.add("ratio", ratio, digits: 2)
        line.add("batched_loop_rate", batchedLoop.rate, digits: 0)
        line.add("batched_ratio", batchedRatio, digits: 2)
        line.add("peak_memory_mib", peakMiB, digits: 1)
        languages.addFields(to: &line)
        return try line.text()
    }
}
