import ArgumentParser
import Foundation

/// `belfry-bench tokens`: what the token state costs.
struct TokensBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Measures the memory of the token state, look-ups against raw HGETs, and sending with the filter."
    )

    @Option(help: "Tokens that are registered, over ten bundles.")
    var tokens = 1_000_000

    @Option(help: "Look-ups per round.")
    var lookups = 500_000

    @Option(help: "Rounds; the results are the medians of their ratios. Even: each contender is first in half of them.")
    var rounds = 12

    @Option(help: "Notifications per round of sending.")
    var notifications = 300_000

    @Option(help: "Dead tokens that the filter holds while it is sent.")
    var tombstones = 90_000

    @Option(help: "Partitions of the topics.")
    var partitions = 32

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1000...20_000_000).contains(tokens) else { throw ValidationError("--tokens: 1000...20000000") }
        guard (1...tokens).contains(lookups) else { throw ValidationError("--lookups: 1...\(tokens)") }
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000") }
        guard (1...partitions * 13_000).contains(notifications) else {
            throw ValidationError("--notifications: 1...\(partitions * 13_000), what the embedded broker keeps")
        }
        guard (0...100_000).contains(tombstones) else { throw ValidationError("--tombstones: 0...100000") }
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            var report = TokensReport(tokens: tokens, lookups: lookups, notifications: notifications)
            let state = try TokenStateScenario(servers: servers, tokens: tokens)
            report.bytesPerToken = try state.measureMemory()
            try state.measureLookUps(lookups, rounds: rounds, into: &report)
            state.close()
            let sending = try WorkerScenario(
                .filter(tombstones: tombstones, partitions: partitions),
                servers: servers,
                .init(rounds: rounds, notifications: notifications)
            )
            report.sending = try sending.run()
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
