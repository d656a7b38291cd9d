import ArgumentParser
import Foundation

/// `belfry-bench run tokens`: what the token state costs.
struct TokensBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            Tokens are registered over ten bundles. Look-ups and sending each have rounds in which both contenders \
            take turns.
            """,
        tables: [TokensReport.fields]
    )

    @OptionGroup var common: CommonOptions

    @OptionGroup var topics: TopicOptions

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

    func validate() throws {
        try require("tokens", tokens, in: 1000...20_000_000)
        try require("lookups", lookups, in: 1...tokens)
        try require("rounds", rounds, in: 1...1000)
        try require("partitions", topics.partitions, in: 1...1000)
        // The embedded broker keeps no more.
        try require("notifications", notifications, in: 1...topics.partitions * 13_000)
        try require("tombstones", tombstones, in: 0...100_000)
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            var report = TokensReport(tokens: tokens, lookups: lookups, notifications: notifications)
            let state = try TokenStateScenario(servers: servers, tokens: tokens)
            report.bytesPerToken = try state.measureMemory()
            try state.measureLookUps(lookups, rounds: rounds, into: &report)
            state.close()
            let sending = try WorkerScenario(
                .filter(tombstones: tombstones, partitions: topics.partitions),
                servers: servers,
                .init(rounds: rounds, notifications: notifications)
            )
            report.sending = try sending.run()
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
