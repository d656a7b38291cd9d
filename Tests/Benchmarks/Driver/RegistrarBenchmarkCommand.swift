import ArgumentParser

/// `belfry-bench registrar`.
struct RegistrarBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrar",
        abstract: "Measures registrations a second against a bare loop that makes the same calls of the same script.",
        discussion: """
            A round is published while the registrar stands still. Its rate is from when it goes on until Redis has \
            all; the loop in C then makes the calls that the registrar made.
            """
    )

    @Option(help: "Partitions of the topics.")
    var partitions = 32

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Rounds; the results are the medians, of ratios those of the rounds' ratios.")
    var rounds = 5

    @Option(help: "Registrations per round, each of another token.")
    var registrations = 200_000

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...100).contains(partitions) else { throw ValidationError("--partitions: 1...100, not \(partitions)") }
        // All hash tags get tokens, and no bucket so many that it is split.
        try FrontBroker.check(
            "--registrations",
            registrations,
            in: 10_000...250_000,
            partitions: partitions,
            perPartition: FrontBroker.registrationsPerPartition
        )
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            let brokers = try servers.startFrontBroker(topic: "push.registrations", partitions: partitions)
            let scenario = try RegistrarScenario(servers: servers, brokers: brokers, registrations: registrations)
            let report = try scenario.run(rounds: rounds)
            printResult(try report.line())
            if judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
