import ArgumentParser

/// `belfry-bench run http2`.
struct HTTP2BenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            Worker, h2load, sandbox and nghttpd, which answers with an empty 200, have one thread each. All show one \
            certificate, over as many connections under the same cipher, to servers that allow as many streams; bodies \
            have 110 bytes. The worker takes 500 tokens a record from Kafka, and its rate ends in the sandbox's books; \
            h2load repeats all fields of a request but the path.
            """,
        tables: [HTTP2Report.fields]
    )

    @OptionGroup var common: FloorOptions

    @Option(help: "Notifications per round, and requests of h2load: a multiple of 500.")
    var notifications = 600_000

    @Option(help: "Connections of the worker, and of h2load.")
    var connections = 1

    @OptionGroup var topics: TopicOptions

    func validate() throws {
        try require("connections", connections, in: 1...16)
        try require("partitions", topics.partitions, in: 1...100)
        // 320 records fill a partition.
        try RequestRecords.check(notifications: notifications, partitions: topics.partitions, perPartition: 50_000)
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            let brokers = try servers.startBroker(partitions: topics.partitions)
            var scenario = try HTTP2Scenario(servers: servers, brokers: brokers, connections: connections)
            let report = try scenario.run(rounds: common.rounds, notifications: notifications)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
