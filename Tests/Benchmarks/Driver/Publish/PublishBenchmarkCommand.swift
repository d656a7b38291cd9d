import ArgumentParser

/// `belfry-bench run publish`.
struct PublishBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            A round publishes a file of tokens as hexadecimal lines, then packed, and lets the loop in C publish \
            records that lie ready in memory, with the same properties of librdkafka. Of the command the whole process \
            is measured: start, both readings of the file, the last acknowledgement; of the loop the time from the \
            first record to the last acknowledgement. The embedded broker acknowledges everything and keeps no more \
            than 5 MiB of a partition, which is enough without a reader. The payload has 110 bytes; the bundle is \
            spread over 128 keys.

            Before that a worker sends notifications in parts with twelve localizations, and the same with none: one \
            notification to all tokens of a round, in records of 500 tokens, with the same sizes and look-ups. Another \
            text in every record would cost the worker about a tenth of its CPU more.
            """,
        tables: [PublishReport.fields, LanguagesReport.fields]
    )

    @OptionGroup var common: FloorOptions

    @Option(help: "Tokens in each file.")
    var tokens = 10_000_000

    @Option(help: "Records of one token each that the loop publishes.")
    var records = 2_000_000

    @Option(help: "Notifications that the worker sends in a round, in languages and in one: a multiple of 500.")
    var notifications = 300_000

    @OptionGroup var topics: TopicOptions

    func validate() throws {
        try require("tokens", tokens, in: 1...100_000_000)
        try require("records", records, in: 1...100_000_000)
        try require("partitions", topics.partitions, in: 1...100)
        try RequestRecords.check(
            notifications: notifications,
            partitions: topics.partitions,
            perPartition: LanguagesScenario.notificationsPerPartition
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            var sending = try LanguagesScenario(
                servers: servers,
                brokers: try servers.startBroker(partitions: topics.partitions)
            )
            let languages = try sending.run(rounds: common.rounds, notifications: notifications)
            // The worker would take what is published from here on.
            ChildRegistry.endAll()
            let brokers = try servers.startBroker(partitions: topics.partitions)
            let scenario = try PublishScenario(servers: servers, brokers: brokers, tokens: tokens, records: records)
            let report = try scenario.run(rounds: common.rounds, languages)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
