import ArgumentParser
import Foundation

/// Measures one of our servers against its floor in C, in one run and on the same input.
///
/// The result is one JSON line on stdout; progress goes to stderr. Exit codes: 0, 1 (failed, or slower than the limits
/// allow), 64 (usage).
@main
struct BenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench",
        abstract: "Measures worker, sandbox, token state or publisher against their floors.",
        subcommands: [
            WorkerBenchmarkCommand.self, SandboxBenchmarkCommand.self, TokensBenchmarkCommand.self,
            HTTP2BenchmarkCommand.self, PublishBenchmarkCommand.self,
        ],
        defaultSubcommand: WorkerBenchmarkCommand.self
    )

    /// Ends with a failure if targets were missed, and tells which.
    static func judge(missed: [String]) throws {
        guard !missed.isEmpty else { return }
        say("missed: \(missed.joined(separator: "; "))")
        throw ExitCode.failure
    }

    /// Runs a scenario in a workspace of its own. Whatever happens, nothing is left of it.
    static func withServers(belfry: String?, _ body: (Servers) throws -> Void) throws {
        let programs = try Programs(belfry: belfry)
        let workspace = try Workspace()
        // A child that ended shows as an error of the write, not as the end of the benchmark.
        signal(SIGPIPE, SIG_IGN)
        ChildRegistry.endOnSignals(removing: workspace.directory)
        defer {
            ChildRegistry.endAll()
            workspace.remove()
        }
        do {
            try body(Servers(programs: programs, workspace: workspace))
        } catch let error as BenchmarkError {
            say("\(error)\n\(workspace.logTails())")
            throw ExitCode.failure
        }
    }
}

/// `belfry-bench worker`, which is also what no subcommand means.
struct WorkerBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Measures the worker against the least a worker must do."
    )

    @Option(help: "Kafka to use, host:port, instead of an embedded broker in a process of its own.")
    var kafka: String?

    @Option(help: "Partitions of the topics; with --kafka, what they have if they are there already.")
    var partitions = 32

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Another belfry executable, of an older commit for instance, whose worker takes part in every round.")
    var beside: String?

    @Option(help: "Rounds; the result is their median.")
    var rounds = 5

    @Option(help: "Notifications per round.")
    var notifications = 300_000

    @Option(help: "Most CPU time of the worker per notification, as a multiple of the floor's. 0: not judged.")
    var limit = 3.0

    @Flag(help: "Turn the worker's filter of dead tokens off: it asks Redis for every token, as the floor does.")
    var askRedis = false

    @Flag(help: "Give the requests ids, which the worker looks up and remembers; the floor does not.")
    var dedupe = false

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...1000).contains(partitions) else {
            throw ValidationError("--partitions: 1...1000, not \(partitions)")
        }
        // The embedded broker keeps 5 MiB a partition and drops the oldest silently: half of that leaves room for keys
        // that spread unevenly.
        let most = kafka == nil ? partitions * 13_000 : 10_000_000
        guard (1...most).contains(notifications) else {
            throw ValidationError("--notifications: 1...\(most), not \(notifications)")
        }
        guard limit >= 0 else { throw ValidationError("--limit: 0 or more, not \(limit)") }
        // Tokens and requests do not lie at the same places of Redis in every version.
        guard beside == nil || !askRedis && !dedupe else {
            throw ValidationError("--beside: not with --ask-redis or --dedupe: both workers use one Redis server")
        }
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
            // Every version makes the Kafka topics that it asks for; one that is older may ask for more of them.
            if let kafka {
                for program in [servers.programs.belfry, beside].compactMap(\.self) {
                    try servers.prepare(kafka: kafka, program, partitions: partitions)
                }
            }
            let brokers = try kafka ?? servers.startBroker(beside, partitions: partitions)
            var scenario = try SingleScenario(
                servers: servers,
                brokers: brokers,
                worker: .init(remembers: dedupe, hasFilter: !askRedis),
                rival: .floor,
                beside: beside
            )
            let report = try scenario.run(rounds: rounds, notifications: notifications)
            print(try report.line())
            guard report.isWithin(limit: limit) else { throw ExitCode.failure }
        }
    }
}

/// A failure, in words for the person who started the benchmark.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
}
