import ArgumentParser

/// `belfry-bench publish`.
struct PublishBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Measures belfry publish against a bare loop of rd_kafka_produce, and a worker in many languages.",
        discussion: """
            A round publishes a file of tokens as hexadecimal lines, then packed, and lets the loop publish records \
            that lie ready. The command's measures are those of its whole process. Before that a worker sends \
            notifications in twelve languages and in one.
            """
    )

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Rounds; the results are the medians, of ratios those of the rounds' ratios.")
    var rounds = 5

    @Option(help: "Tokens in each file.")
    var tokens = 10_000_000

    @Option(help: "Records of one token each that the loop publishes.")
    var records = 2_000_000

    @Option(help: "Notifications that the worker sends in a round, in languages and in one: a multiple of 500.")
    var notifications = 300_000

    @Option(help: "Partitions of the topics.")
    var partitions = 32

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...100_000_000).contains(tokens) else {
            throw ValidationError("--tokens: 1...100000000, not \(tokens)")
        }
        guard (1...100_000_000).contains(records) else {
            throw ValidationError("--records: 1...100000000, not \(records)")
        }
        guard (1...100).contains(partitions) else { throw ValidationError("--partitions: 1...100, not \(partitions)") }
        try RequestRecords.check(
            notifications: notifications,
            partitions: partitions,
            perPartition: LanguagesScenario.notificationsPerPartition
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            var sending = try LanguagesScenario(
                servers: servers,
                brokers: try servers.startBroker(partitions: partitions)
            )
            let languages = try sending.run(rounds: rounds, notifications: notifications)
            // The worker would take what is published from here on.
            ChildRegistry.endAll()
            let brokers = try servers.startBroker(partitions: partitions)
            let scenario = try PublishScenario(servers: servers, brokers: brokers, tokens: tokens, records: records)
            let report = try scenario.run(rounds: rounds, languages)
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
