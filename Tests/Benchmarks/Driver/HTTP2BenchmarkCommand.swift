import ArgumentParser

/// `belfry-bench http2`.
struct HTTP2BenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "http2",
        abstract: "Measures the worker over HTTP/2 against h2load, and the sandbox's provider API against nghttpd.",
        discussion: """
            Worker, h2load, sandbox and nghttpd have one thread each for requests. The worker's CPU time is that of all \
            its threads, and its rate is from Kafka to the sandbox's books.
            """
    )

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Rounds; the results are the medians, of ratios those of the rounds' ratios.")
    var rounds = 5

    @Option(help: "Notifications per round, and requests of h2load: a multiple of 500.")
    var notifications = 600_000

    @Option(help: "Connections of the worker, and of h2load.")
    var connections = 1

    @Option(help: "Partitions of the topics.")
    var partitions = 32

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...16).contains(connections) else { throw ValidationError("--connections: 1...16, not \(connections)") }
        guard (1...100).contains(partitions) else { throw ValidationError("--partitions: 1...100, not \(partitions)") }
        // 320 records fill a partition.
        try RequestRecords.check(notifications: notifications, partitions: partitions, perPartition: 50_000)
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            let brokers = try servers.startBroker(partitions: partitions)
            var scenario = try HTTP2Scenario(servers: servers, brokers: brokers, connections: connections)
            let report = try scenario.run(rounds: rounds, notifications: notifications)
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
