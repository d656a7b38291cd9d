import ArgumentParser

/// `belfry-bench run registrar`.
struct RegistrarBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            In the warm-up the server tells of all calls that the registrar makes of it (MONITOR), and the loop in C \
            makes the same calls of the same script, 512 at a time and four times as many under way. Both begin with a \
            server that knows no token, but how many buckets there are. A round is published while the registrar \
            stands still; its rate is from when it goes on until Redis has all. The broker keeps 80,000 registrations \
            of a partition; --registrations is half of that at most.
            """,
        tables: [RegistrarReport.fields]
    )

    @OptionGroup var common: FloorOptions

    @OptionGroup var topics: TopicOptions

    @Option(help: "Registrations per round, each of another token.")
    var registrations = 200_000

    func validate() throws {
        try require("partitions", topics.partitions, in: 1...100)
        // All hash tags get tokens, and no bucket so many that it is split.
        try FrontBroker.check(
            "--registrations",
            registrations,
            in: 10_000...250_000,
            partitions: topics.partitions,
            perPartition: FrontBroker.registrationsPerPartition
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            let brokers = try servers.startFrontBroker(topic: "push.registrations", partitions: topics.partitions)
            let scenario = try RegistrarScenario(servers: servers, brokers: brokers, registrations: registrations)
            let report = try scenario.run(rounds: common.rounds)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
