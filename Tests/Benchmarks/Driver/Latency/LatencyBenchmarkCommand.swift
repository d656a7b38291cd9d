import ArgumentParser

/// `belfry-bench run latency`.
struct LatencyBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            A publisher in C without linger writes the time into each payload when it hands the record to librdkafka, \
            one token a record. A worker with default settings sends to a raw TLS sink, which reads the times. Beside \
            it a consumer in C reads the same records, without a group, with fetch.wait.max.ms 10 and fetch.min.bytes \
            1. The run fails if a notification is missing, or comes twice.

            The broker is a front of the embedded one that answers a fetch as soon as there are records, as Kafka \
            does: alone, the embedded one lets a fetch that finds nothing wait for all of its time. It keeps 8 MiB of \
            a partition; half of that is for keys that spread unevenly, so that --rate is 6,666 for each partition at \
            most.
            """,
        tables: [LatencyReport.fields]
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
