import ArgumentParser
import Foundation
import LocalPipeline

/// `belfry-bench run lanes`: measures whether urgent notifications overtake a backlog of the same app in bulk, and what
/// bulk keeps.
///
/// A JSON line per transport.
struct LanesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            Two workers serve all lanes; the sandbox's answers are 40 ms late. All notifications are of one app; each \
            lane has devices of its own, of which those of urgent are offline, so that the sandbox counts the lanes \
            apart. A line for each transport, of three parts:

            A backlog in bulk, in records of 500 tokens, is worked off, in slices without and with urgent \
            notifications beside it in turns: of these, one token to each partition again and again whose time is \
            taken, and records of 10 tokens. Then both lanes get a backlog at once. Then, while urgent notifications \
            go on, one of the workers is killed.

            A backlog is published while the workers stand still (SIGSTOP). The embedded broker keeps 5 MiB of a \
            partition, and drops the oldest records silently: with --partitions 96 that is enough for 11,960,000 \
            notifications in bulk, and with more partitions for more. It lets a group wait for the session's time-out, \
            less a second, before it shares out what a killed worker had, which Kafka does at once: so the session is \
            4 s there. With --kafka it is the program's own, 6 s in the urgent lane, and the run makes Kafka topics of \
            its own, whose names begin with belfry-bench-, and leaves them.
            """,
        tables: [LanesReport.fields]
    )

    enum Transport: String, CaseIterable, ExpressibleByArgument {
        case binary, http2, both

        var all: [PipelineTransport] {
            switch self {
            case .binary: [.binary]
            case .http2: [.http2]
            case .both: PipelineTransport.allCases
            }
        }
    }

    @OptionGroup var common: CommonOptions

    @Option(help: "Between workers and sandbox: \(Transport.allCases.map(\.rawValue)).")
    var transport = Transport.both

    @Option(help: "Kafka to use, host:port, instead of the embedded broker.")
    var kafka: String?

    @Option(help: "Partitions of each Kafka topic.")
    var partitions = 96

    @Option(help: "Notifications in bulk that wait: a multiple of 500.")
    var backlog = 10_000_000

    @Option(help: "Notifications in each of urgent and bulk when both have a backlog: a multiple of 500.")
    var flood = 2_000_000

    @Option(help: "Urgent notifications beside the backlog, as a share of bulk's rate alone, in percent.")
    var urgentPercent = 1.0

    @Option(help: "Urgent notifications a second of which the time is taken.")
    var probes = 200

    @Option(help: "Shards of each worker in each lane.")
    var shards = 1

    @Option(help: "The workers' session time-out. Default: 4 with the embedded broker, the program's own with --kafka.")
    var sessionSeconds: Int?

    @Flag(help: "Leave the directory with logs.")
    var keep = false

    func validate() throws {
        try require("partitions", partitions, in: 8...1000)
        try require("probes", probes, in: 10...2000)
        try require("shards", shards, in: 1...16)
        if let sessionSeconds { try require("session-seconds", sessionSeconds, in: 2...60) }
        guard urgentPercent > 0, urgentPercent <= 20 else {
            throw ValidationError("--urgent-percent: more than 0, at most 20")
        }
        // The sandbox tells 67 million notifications apart.
        try check("backlog", backlog, upTo: 40_000_000)
        try check("flood", flood, upTo: 5_000_000)
    }

    private func check(_ option: String, _ value: Int, upTo most: Int) throws {
        let kept = kafka == nil ? RecordStream.kept(of: LanesScenario.app, partitions: partitions) : most
        guard value <= kept else {
            throw ValidationError(
                "--\(option): at most \(kept), since the embedded broker keeps 5 MiB of each of \(partitions) "
                    + "partitions, not \(value)"
            )
        }
        try require(option, value, in: 500_000...most)
        guard value.isMultiple(of: RecordStream.tokensPerRecord) else {
            throw ValidationError("--\(option): a multiple of \(RecordStream.tokensPerRecord), not \(value)")
        }
    }

    func run() async throws {
        let passes = try await BenchmarkCommand.withDirectory("lanes", keep: keep, measure)
        if common.judge, !passes { throw ExitCode.failure }
    }

    /// Says whether all targets are met.
    private func measure(in directory: String) async throws -> Bool {
        let interruption = Interruption()
        var passes = true
        for each in transport.all {
            let directory = "\(directory)/\(each.rawValue)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            say("lanes over \(each.rawValue), in \(directory)")
            let report = try await measure(each, in: directory, interruption)
            printResult(try report.line())
            passes = passes && report.missed.isEmpty
        }
        return passes
    }

    private func measure(
        _ transport: PipelineTransport,
        in directory: String,
        _ interruption: Interruption
    ) async throws -> LanesReport {
        let seconds = sessionSeconds ?? (kafka == nil ? Self.embeddedSessionSeconds : nil)
        let scenario = try LanesScenario(
            LanesScenario.Settings(
                transport: transport,
                executable: try Programs.belfry(common.belfry),
                directory: directory,
                kafka: kafka,
                partitions: partitions,
                backlog: backlog,
                flood: flood,
                urgentPercent: urgentPercent,
                probes: probes,
                sessionMilliseconds: seconds.map { $0 * 1000 },
                shards: shards
            ),
            interruption: interruption
        )
        defer { scenario.stop() }
        return try await scenario.run()
    }

    private static let embeddedSessionSeconds = 4
}
