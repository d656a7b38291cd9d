import ArgumentParser
import Foundation

/// Runs seeded worlds: the worker's shards against a simulated broker, Redis, network and gateway under a virtual
/// clock.
///
/// The last line of stdout is one JSON object; the stories of failing seeds stand before it. Exit codes: 0, 1 (an
/// invariant was broken, or a seed ran differently the second time), 64 (usage).
@main
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-simulate",
        abstract: "Simulates the sender under faults and checks its invariants at every step."
    )

    @Option(help: "How many seeds.")
    var seeds = 1000

    @Option(help: "The first of them.")
    var seed: UInt64 = 1

    @Option(help: "Threads; by default as many as processors.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Of a hundred seeds so many are run twice, and must do the same.")
    var replayed = 5

    @Option(help: "Of how many failing seeds the story is told.")
    var stories = 3

    @Option(help: "Kinds of trouble to choose from, comma-separated, -x: all but x; none: plain worlds.")
    var features: String?

    @Option(help: "Rules of the auditor that are on besides the usual ones, comma-separated, -x: without x; or all.")
    var checks: String?

    @Option(help: "Most lines of a story; the last ones count.")
    var lines = 250

    func validate() throws {
        guard (1...100_000_000).contains(seeds) else { throw ValidationError("--seeds: 1...100000000, not \(seeds)") }
        guard (1...1024).contains(jobs) else { throw ValidationError("--jobs: 1...1024, not \(jobs)") }
        guard (0...100).contains(replayed) else { throw ValidationError("--replayed: 0...100, not \(replayed)") }
        guard seed <= UInt64.max - UInt64(seeds) else { throw ValidationError("--seed: too large") }
    }

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
        let begin = ContinuousClock.now
        var simulation = Simulation(first: seed, count: seeds, threads: jobs)
        simulation.replayedPercent = replayed
        simulation.features = try chosenFeatures()
        simulation.checks = try chosenChecks()
        let summary = simulation.run { seed, violation in
            FileHandle.standardError.write(Data("seed \(seed): \(violation)\n".utf8))
        }
        let seconds = Double((ContinuousClock.now - begin) / .milliseconds(1)) / 1000
        for seed in summary.failed.prefix(stories) {
            let plan = simulation.plan(seed)
            guard let violation = World(plan).run().violation else { continue }
            for line in Story(plan, violation: violation, lines: lines).text { print(line) }
        }
        for seed in summary.unstable { print("seed \(seed) ran differently the second time") }
        print(try line(summary, seconds))
        if !summary.passes { throw ExitCode.failure }
    }

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
    }

    private func line(_ summary: Simulation.Summary, _ seconds: Double) throws -> String {
        let line = Line(
            seeds: summary.seeds,
            failed: summary.failed,
            replayed: summary.replayed,
            unstable: summary.unstable,
            events: summary.events,
            events_per_seed: summary.events / max(1, summary.seeds),
            hash: String(summary.hash, radix: 16),
            seconds: seconds,
            seeds_per_minute: Int(Double(summary.seeds) / max(seconds, 0.001) * 60)
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(line), as: UTF8.self)
    }
}
