import ArgumentParser
import Foundation

/// Measures what bad tokens cost: how much of its clean rate the worker keeps, held against what the protocol allows.
///
/// A JSON line per case on stdout; progress goes to stderr. Exit codes: 0, 1 (failed, or a target was missed), 64 (usage).
@main
struct BadTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench-badtokens",
        abstract: "Measures the worker's goodput with invalid tokens among the good ones."
    )

    @Option(help: "Notifications per run; a clean run goes before each case.")
    var notifications = 300_000

    @Option(parsing: .upToNextOption, help: "Shares of notifications to bad tokens, in percent.")
    var invalidPercent = [0.1, 1, 5]

    @Option(parsing: .upToNextOption, help: "Delays of the gateway's answers, in milliseconds.")
    var answerDelay = [50, 200]

    @Option(help: "Of what is random in the notifications.")
    var seed: UInt64 = 1

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Flag(help: "Say what was measured, and fail for nothing.")
    var unjudged = false

    func validate() throws {
        guard (1000...400_000).contains(notifications) else {
            throw ValidationError("--notifications: 1000...400000, not \(notifications)")
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
            if !allGood, !unjudged { throw ExitCode.failure }
        } catch let error as ExitCode {
            throw error
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }

    /// Runs the cases; returns whether all of them met their targets.
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
                    invalidPercent: percent,
                    answerDelayMilliseconds: delay,
                    seed: seed &* 1000 &+ number
                )
                print(try report.line())
                fflush(nil)
                allGood = allGood && report.meetsTargets
            }
        }
        return allGood
    }
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("badtokens: \(text)\n".utf8))
}
