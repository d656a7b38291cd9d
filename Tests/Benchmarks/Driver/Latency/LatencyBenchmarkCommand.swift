import ArgumentParser

/// `belfry-bench run latency`.
struct LatencyBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            A publisher without linger keeps the rate, with one token a record, and writes into each payload when it \
            hands it over. A worker with default settings sends to a raw TLS sink; a consumer in C beside it only \
            reads the times.
            """
    )

    @Option(help: "Kafka to use, host:port, instead of one that is started.")
    var kafka: String?

    @Option(help: "Partitions of the topics; with --kafka, what they have if they are there already.")
    var partitions = 8

    @OptionGroup var common: FloorOptions

    @Option(help: "Seconds of publishing per round.")
    var seconds = 10

    @Option(help: "Notifications a second.")
    var rate = 50_000

    func validate() throws {
        try require("partitions", partitions, in: 1...1000)
        try require("seconds", seconds, in: 1...600)
        let range = 1...1_000_000
        guard kafka == nil else { return try require("rate", rate, in: range) }
        try FrontBroker.check(
            "--rate",
            rate,
            in: range,
            partitions: partitions,
            perPartition: FrontBroker.notificationsPerPartition / LatencyScenario.warmUpSeconds
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            if let kafka { try servers.prepare(kafka: kafka, servers.programs.belfry, partitions: partitions) }
            let brokers = try kafka ?? servers.startFrontBroker(topic: "push.requests", partitions: partitions)
            var scenario = try LatencyScenario(servers: servers, brokers: brokers, rate: rate)
            let report = try scenario.run(rounds: common.rounds, seconds: seconds, partitions: partitions)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
