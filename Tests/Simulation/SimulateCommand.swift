import ArgumentParser
import Foundation
import Workbench

/// Runs seeded worlds under a virtual clock, in two halves: the worker's shards against a simulated broker, Redis,
/// network and gateway; then the appliers of registrations, feedback and tombstones against broker and Redis.
///
/// The last line of stdout is one JSON object; the stories of failing seeds stand before it. Exit codes: 0, 1 (an
/// invariant was broken, or a seed ran differently the second time), 64 (usage).
@main
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-simulate",
        abstract: "Simulates sender and appliers under faults and checks their invariants at every step.",
        discussion: fields.text
    )

    /// The fields of the last line for the help. Those without a prefix are the sender's half alone, so that they
    /// compare with those of earlier runs.
    static let fields = HelpTable(
        "Fields of the last line",
        prefixes: ["applier_"],
        """
        seeds, failed, replayed, unstable: Worlds of the sender; seeds that broke a promise; worlds that ran twice; \
        seeds that ran differently then.
        events, events_per_seed, hash: Steps in all, and each; a hash of all that happened: the same for the same \
        seeds and code.
        seconds, seeds_per_minute: On this machine's clock.
        """
    )

    /// The names of all fields of the last line.
    static var fieldNames: [String] { Line.CodingKeys.allCases.map(\.rawValue) }

    enum Half: String, ExpressibleByArgument, CaseIterable {
        case sender, appliers, both
    }

    enum Transport: String, ExpressibleByArgument, CaseIterable {
        case mixed, http2
    }

    @Option(help: "The worlds that are played: the sender's, the appliers', or both.")
    var half = Half.both

    @Option(help: "How many seeds of the sender's worlds.")
    var seeds = 1000

    @Option(help: "How many seeds of the appliers' worlds; by default a fifth of the sender's, at least one.")
    var applierSeeds: Int?

    @Option(help: "The first of them.")
    var seed: UInt64 = 1

    @Option(help: "Threads; by default as many as processors.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Of a hundred seeds so many are run twice, and must do the same.")
    var replayed = 5

    @Option(help: "Of how many failing seeds of each half the story is told.")
    var stories = 3

    @Option(help: "Kinds of trouble of the sender to choose from, comma-separated, -x: all but x; none: plain worlds.")
    var features: String?

    @Option(help: "The transport of the sender's topics: mixed (as the seeds choose), or http2.")
    var transport = Transport.mixed

    @Option(help: "Rules of the sender's auditor beside the usual ones, comma-separated, -x: without x; or all.")
    var checks: String?

    @Option(help: "Most lines of a story; the last ones count.")
    var lines = 250

    func validate() throws {
        guard (1...100_000_000).contains(seeds) else { throw ValidationError("--seeds: 1...100000000, not \(seeds)") }
        guard (1...100_000_000).contains(seedsOfAppliers) else {
            throw ValidationError("--applier-seeds: 1...100000000, not \(seedsOfAppliers)")
        }
        guard (1...1024).contains(jobs) else { throw ValidationError("--jobs: 1...1024, not \(jobs)") }
        guard (0...100).contains(replayed) else { throw ValidationError("--replayed: 0...100, not \(replayed)") }
        guard seed <= UInt64.max - UInt64(max(seeds, seedsOfAppliers)) else {
            throw ValidationError("--seed: too large")
        }
    }

    private var seedsOfAppliers: Int { applierSeeds ?? max(1, seeds / 5) }

    private func chosenFeatures() throws -> Features {
        guard let features else { return .current }
        if features == "none" { return [] }
        let names = features.split(separator: ",").map(String.init)
        var chosen: Features = names.contains { !$0.hasPrefix("-") } ? [] : .current
        for name in names {
            let isOut = name.hasPrefix("-")
            let plain = isOut ? String(name.dropFirst()) : name
            guard let known = Features.named.first(where: { $0.name == plain })?.feature else {
                let all = Features.named.map(\.name).joined(separator: ", ")
                throw ValidationError("--features: \(all), not \(plain)")
            }
            if isOut { chosen.remove(known) } else { chosen.insert(known) }
        }
        return chosen
    }

    private func chosenChecks() throws -> Checks {
        guard let checks else { return .current }
        if checks == "all" { return .all }
        var chosen = Checks.current
        for name in checks.split(separator: ",").map(String.init) {
            let isOut = name.hasPrefix("-")
            let plain = isOut ? String(name.dropFirst()) : name
            guard let known = Checks.named.first(where: { $0.name == plain })?.check else {
                throw ValidationError("--checks: \(Checks.named.map(\.name).joined(separator: ", ")), not \(plain)")
            }
            if isOut { chosen.remove(known) } else { chosen.insert(known) }
        }
        return chosen
    }

    func run() throws {
        let worlds = SenderWorlds(
            features: try chosenFeatures(),
            checks: try chosenChecks(),
            isOverStreams: transport == .http2
        )
        let sender = play(worlds, half == .appliers ? 0 : seeds)
        let appliers = play(ApplierWorlds(), half == .sender ? 0 : seedsOfAppliers)
        print(try Line(sender, appliers).text())
        if !sender.summary.passes || !appliers.summary.passes { throw ExitCode.failure }
    }

    /// A half that was played.
    fileprivate struct Played {
        var summary: SimulationSummary
        /// On this machine's clock, without the stories.
        var seconds: Double
    }

    /// Plays a half, and tells the stories of seeds that fail.
    private func play(_ worlds: some WorldKind, _ count: Int) -> Played {
        let simulation = Simulation(
            worlds: worlds,
            first: seed,
            count: count,
            threads: jobs,
            replayedPercent: replayed
        )
        let begin = ContinuousClock.now
        let summary = simulation.run { seed, violation in
            FileHandle.standardError.write(Data("seed \(seed): \(violation)\n".utf8))
        }
        let seconds = Double((ContinuousClock.now - begin) / .milliseconds(1)) / 1000
        for seed in summary.failed.prefix(stories) {
            for line in worlds.story(of: seed, lines: lines)?.text ?? [] { print(line) }
        }
        for seed in summary.unstable { print("seed \(seed) ran differently the second time") }
        return Played(summary: summary, seconds: seconds)
    }
}

/// The last line.
private struct Line: Encodable {
    var seeds: Int
    var failed: [UInt64]
    var replayed: Int
    var unstable: [UInt64]
    var events: Int
    var events_per_seed: Int
    var hash: String
    var seconds: Double
    var seeds_per_minute: Int
    var applier_seeds: Int
    var applier_failed: [UInt64]
    var applier_replayed: Int
    var applier_unstable: [UInt64]
    var applier_events: Int
    var applier_hash: String
    var applier_seconds: Double

    enum CodingKeys: String, CodingKey, CaseIterable {
        case seeds, failed, replayed, unstable, events, events_per_seed, hash, seconds, seeds_per_minute
        case applier_seeds, applier_failed, applier_replayed, applier_unstable, applier_events, applier_hash
        case applier_seconds
    }

    /// The fields without a prefix are the sender's half.
    init(_ sender: SimulateCommand.Played, _ appliers: SimulateCommand.Played) {
        seeds = sender.summary.seeds
        failed = sender.summary.failed
        replayed = sender.summary.replayed
        unstable = sender.summary.unstable
        events = sender.summary.events
        events_per_seed = events / max(1, seeds)
        hash = String(sender.summary.hash, radix: 16)
        seconds = sender.seconds
        seeds_per_minute = Int(Double(seeds) / max(seconds, 0.001) * 60)
        applier_seeds = appliers.summary.seeds
        applier_failed = appliers.summary.failed
        applier_replayed = appliers.summary.replayed
        applier_unstable = appliers.summary.unstable
        applier_events = appliers.summary.events
        applier_hash = String(appliers.summary.hash, radix: 16)
        applier_seconds = appliers.seconds
    }

    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
