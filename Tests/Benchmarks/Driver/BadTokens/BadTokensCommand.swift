import ArgumentParser
import Foundation

/// Measures what bad tokens cost: how much of its clean rate the worker keeps, held against what the protocol allows.
///
/// A JSON line per case.
struct BadTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            One line for each share and delay of answers. A bad token that is not yet known costs its connection the \
            time until the answer and the next handshake. A case has rounds: a clean run, and one with as many good \
            notifications and the bad ones. The bound of a round is the time of its clean run, and what its bad tokens \
            cost all connections together: distinct × (delay + handshake) / connections.
            """,
        tables: [BadTokenReport.fields]
    )

    @OptionGroup var program: ProgramOption

    @OptionGroup var random: SeedOption

    @Option(help: "Notifications of a run at most.")
    var notifications = 2_000_000

    @Option(help: "Rounds of a case, each a clean run and one with bad tokens; the medians of the pairs count.")
    var rounds = 3

    @Option(help: "Most seconds that what a case has to learn may hold its connections up; it is made as short.")
    var learningSeconds = 15

    @Option(parsing: .upToNextOption, help: "Shares of notifications to bad tokens, in percent.")
    var invalidPercent = [0.1, 1, 5]

    @Option(parsing: .upToNextOption, help: "Delays of the gateway's answers, in milliseconds.")
    var answerDelay = [50, 200]

    @Option(help: "What the exit code depends on: all targets, safety (duplicates and connections), or none.")
    var judge = Judge.all

    enum Judge: String, CaseIterable, ExpressibleByArgument {
        case all, safety, none

        func passes(_ report: BadTokenReport) -> Bool {
            switch self {
            case .all: report.meetsTargets
            case .safety: report.isSafe
            case .none: true
            }
        }
    }

    func validate() throws {
        try require("notifications", notifications, in: 1000...2_000_000)
        // The sandbox tells 25 million notifications of a case apart.
        try require("rounds", rounds, in: 1...min(99, 24_000_000 / (2 * notifications)))
        try require("learning-seconds", learningSeconds, in: 1...600)
        guard invalidPercent.allSatisfy({ $0 > 0 && $0 <= 20 }) else {
            throw ValidationError("--invalid-percent: more than 0, at most 20")
        }
        guard answerDelay.allSatisfy({ (0...500).contains($0) }) else {
            throw ValidationError("--answer-delay: 0...500, half of the worker's window")
        }
    }

    func run() async throws {
        guard try await BenchmarkCommand.withDirectory("badtokens", measure) else { throw ExitCode.failure }
    }

    /// Runs the cases; returns whether all of them passed.
    private func measure(in directory: String) async throws -> Bool {
        var allGood = true
        var number: UInt64 = 0
        for percent in invalidPercent {
            for delay in answerDelay {
                number += 1
                say("\(percent) % bad tokens, answers after \(delay) ms, in \(directory)/\(number)")
                let report = try await measure(percent, delay, number, in: "\(directory)/\(number)")
                printResult(try report.line())
                allGood = allGood && judge.passes(report)
            }
        }
        return allGood
    }

    /// Runs a case with processes of its own: the sandbox tells a limited number of notifications apart.
    private func measure(
        _ percent: Double,
        _ delay: Int,
        _ number: UInt64,
        in directory: String
    ) async throws -> BadTokenReport {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let scenario = try BadTokenScenario(
            executable: try Programs.belfry(program.belfry),
            directory: directory,
            interruption: Interruption()
        )
        defer { scenario.stop() }
        try await scenario.prepare()
        return try await scenario.run(
            notifications: notifications,
            rounds: rounds,
            learningSeconds: Double(learningSeconds),
            invalidPercent: percent,
            answerDelayMilliseconds: delay,
            seed: random.seed &* 1000 &+ number
        )
    }
}
