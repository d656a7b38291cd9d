import ArgumentParser
import Foundation

/// Measures what bad tokens cost: how much of its clean rate the worker keeps, held against what the protocol allows.
///
/// A JSON line per case on stdout; progress goes to stderr. Exit codes: 0, 1 (failed, or a target was missed), 64
/// (usage).
@main
struct BadTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench-badtokens",
        abstract: "Measures the worker's goodput with invalid tokens among the good ones."
    )

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

    @Option(help: "Of what is random in the notifications.")
    var seed: UInt64 = 1

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

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
        guard (1000...2_000_000).contains(notifications) else {
            throw ValidationError("--notifications: 1000...2000000, not \(notifications)")
        }
        guard (1...99).contains(rounds) else { throw ValidationError("--rounds: 1...99, not \(rounds)") }
        guard (1...600).contains(learningSeconds) else {
            throw ValidationError("--learning-seconds: 1...600, not \(learningSeconds)")
        }
        guard invalidPercent.allSatisfy({ $0 > 0 && $0 <= 20 }) else {
            throw ValidationError("--invalid-percent: more than 0, at most 20")
        }
        guard answerDelay.allSatisfy({ (0...500).contains($0) }) else {
            throw ValidationError("--answer-delay: 0...500, half of the worker's window")
        }
    }

    func run() async throws {
        let name = "belfry-badtokens-\(ProcessInfo.processInfo.processIdentifier)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        do {
            let allGood = try await measure(in: directory)
            try? FileManager.default.removeItem(atPath: directory)
            if !allGood { throw ExitCode.failure }
        } catch let error as ExitCode {
            throw error
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }

    /// Runs the cases; returns whether all of them passed.
    private func measure(in directory: String) async throws -> Bool {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        say("starting broker, Redis, sandbox and worker in \(directory)")
        let scenario = try BadTokenScenario(
            executable: belfry ?? beside.appendingPathComponent("belfry").path,
            directory: directory,
            interruption: Interruption()
        )
        defer { scenario.stop() }
        try await scenario.prepare()
        var allGood = true
        var number: UInt64 = 0
        for percent in invalidPercent {
            for delay in answerDelay {
                number += 1
                say("\(percent) % bad tokens, answers after \(delay) ms")
                let report = try await scenario.run(
                    notifications: notifications,
                    rounds: rounds,
                    learningSeconds: Double(learningSeconds),
                    invalidPercent: percent,
                    answerDelayMilliseconds: delay,
                    seed: seed &* 1000 &+ number
                )
                print(try report.line())
                fflush(nil)
                allGood = allGood && judge.passes(report)
            }
        }
        return allGood
    }
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("badtokens: \(text)\n".utf8))
}
