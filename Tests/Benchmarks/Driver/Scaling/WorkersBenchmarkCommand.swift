import ArgumentParser

/// `belfry-bench run scaling`.
struct WorkersBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            Each worker is a process with default settings, and is offered the same rate however many there are. A \
            start counts from the group's assignment to the first notification at the gateway, a stop from SIGTERM to \
            the end of the last process.
            """
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
