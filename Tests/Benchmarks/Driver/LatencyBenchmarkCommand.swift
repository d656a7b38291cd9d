import ArgumentParser

/// `belfry-bench latency`.
struct LatencyBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measures the time from publisher to gateway at a steady rate against that to a bare consumer.",
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

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Rounds; the results are the medians, of differences those of the rounds' differences.")
    var rounds = 5

    @Option(help: "Seconds of publishing per round.")
    var seconds = 10

    @Option(help: "Notifications a second.")
    var rate = 50_000

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...1000).contains(partitions) else {
            throw ValidationError("--partitions: 1...1000, not \(partitions)")
        }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds: 1...600, not \(seconds)") }
        let range = 1...1_000_000
        guard kafka == nil else {
            guard range.contains(rate) else { throw ValidationError("--rate: 1...1000000, not \(rate)") }
            return
        }
        try FrontBroker.check(
            "--rate",
            rate,
            in: range,
            partitions: partitions,
            perPartition: FrontBroker.notificationsPerPartition / LatencyScenario.warmUpSeconds
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            if let kafka { try servers.prepare(kafka: kafka, servers.programs.belfry, partitions: partitions) }
            let brokers = try kafka ?? servers.startFrontBroker(topic: "push.requests", partitions: partitions)
            var scenario = try LatencyScenario(servers: servers, brokers: brokers, rate: rate)
            let report = try scenario.run(rounds: rounds, seconds: seconds, partitions: partitions)
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
