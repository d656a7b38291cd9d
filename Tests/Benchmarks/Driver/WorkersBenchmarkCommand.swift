import ArgumentParser

/// `belfry-bench scaling`.
struct WorkersBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scaling",
        abstract: "Measures the CPU per notification of one to four workers, their start and their stop under load.",
        discussion: """
            Each worker is a process with default settings, and is offered the same rate however many there are. A \
            start counts from the group's assignment to the first notification at the gateway, a stop from SIGTERM to \
            the end of the last process.
            """
    )

    @Option(help: "Partitions of the topics.")
    var partitions = 32

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Rounds, in each of which there are one, two, three and four workers; the results are medians.")
    var rounds = 5

    @Option(help: "Seconds for which CPU time is measured, for each number of workers.")
    var seconds = 5

    @Option(help: "Notifications a second for each worker.")
    var rate = 20_000

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        // Each shard of four workers has one at least.
        guard (8...1000).contains(partitions) else {
            throw ValidationError("--partitions: 8...1000, not \(partitions)")
        }
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds: 1...60, not \(seconds)") }
        try FrontBroker.check(
            "--rate",
            rate,
            in: 1000...250_000,
            partitions: partitions,
            perPartition: FrontBroker.notificationsPerPartition / WorkersScenario.waitingSeconds
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            let brokers = try servers.startFrontBroker(topic: "push.requests", partitions: partitions)
            var scenario = try WorkersScenario(servers: servers, brokers: brokers, rate: rate)
            let report = try scenario.run(rounds: rounds, seconds: seconds, partitions: partitions)
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
