import ArgumentParser

/// `belfry-bench run scaling`.
struct WorkersBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            A round has one, two, three and four workers, processes with default settings but for a session time-out \
            of 6 s. Each is offered the same rate, by one publisher whose linger is 60 ms divided by their number, so \
            that each gets batches of the same size. They start while a light load is published and stop under the \
            whole of it; what they leave is what the next ones begin with. The broker keeps twenty seconds of the \
            rate, so that --rate is 2,000 for each partition at most.
            """,
        tables: [WorkersReport.fields]
    )

    @OptionGroup var common: FloorOptions

    @OptionGroup var topics: TopicOptions

    @Option(help: "Seconds for which CPU time is measured, for each number of workers.")
    var seconds = 5

    @Option(help: "Notifications a second for each worker.")
    var rate = 20_000

    func validate() throws {
        // Each shard of four workers has one at least.
        try require("partitions", topics.partitions, in: 8...1000)
        try require("seconds", seconds, in: 1...60)
        try FrontBroker.check(
            "--rate",
            rate,
            in: 1000...250_000,
            partitions: topics.partitions,
            perPartition: FrontBroker.notificationsPerPartition / WorkersScenario.waitingSeconds
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            let brokers = try servers.startFrontBroker(topic: "push.requests", partitions: topics.partitions)
            var scenario = try WorkersScenario(servers: servers, brokers: brokers, rate: rate)
            let report = try scenario.run(rounds: common.rounds, seconds: seconds, partitions: topics.partitions)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
