import ArgumentParser
import Foundation
import LocalPipeline

/// Measures whether one sick topic harms a healthy one in the same partitions and processes.
///
/// A JSON line per scenario, and one for all.
struct IsolationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            One sick topic after the other lies beside a healthy one, in the same partitions and workers, of which one \
            is killed in the middle; a line for each scenario, and one for all. In return a topic comes back with a \
            backlog.

            Over HTTP/2 the two topics are of one team and use its provider key. A topic that is sick by itself has \
            the healthy one's environment, too, and so its connections (certificate-refused: its requests are answered \
            with 403; certificate-missing: it names a key that is not there; poisoned, invalid-100, invalid-20, \
            bad-tokens). Where the gateway is the trouble (unreachable, half-dead, slow, return) the sick topic has \
            one of its own, and the key alone is shared.

            With --scaling there is the healthy topic alone, and beside it registrations and feedback of other \
            bundles, while workers, registrars and harvesters come and go.

            The embedded broker takes up to twice the session time-out, less a second, until the others have what a \
            killed worker had: of the bound of takeover_seconds that leaves a worker 3 s.
            """,
        tables: [IsolationReport.fields, ScalingReport.changes, ScalingReport.fields]
    )

    /// The healthy topic alone, which is always the first, and a topic that was away.
    private static let (alone, comeback) = ("alone", "return")
    private static let known = [alone] + Sickness.allCases.map(\.rawValue) + [comeback]

    @OptionGroup var common: CommonOptions

    @Option(
        help: """
            Between workers and gateways: \(PipelineTransport.allCases.map(\.rawValue)). Over http2 both topics use \
            the provider key of one team, and share connections unless the sick one's gateway is the trouble.
            """
    )
    var transport = PipelineTransport.binary

    @Option(help: "How long each scenario is measured, its take-over aside.")
    var seconds = 60

    @Option(help: "Scenarios, separated by commas: \(known.joined(separator: ", ")). Default: all.")
    var scenarios: String?

    @Option(name: .customLong("return"), help: "Notifications of a topic that was away.")
    var returning = 5_000_000

    @Flag(help: "Measures the healthy topic alone while workers come and go, instead of the scenarios.")
    var scaling = false

    @Option(help: "Notifications a second of the healthy topic.")
    var rate = 20_000

    @Option(
        help: """
            The workers' session time-out. The embedded broker lets a group wait for as long again, less a second, \
            before it shares out what a dead member had.
            """
    )
    var sessionSeconds = 3

    @Option(
        help: """
            Shards of each worker. With more than one the embedded broker often shares out twice: it forgets members \
            that answer later than their leader.
            """
    )
    var shards = 1

    @Option(help: "More keys of the section worker of the configuration, as YAML: \"key: value, key: value\".")
    var worker: String?

    @Flag(help: "Leave the directory with logs.")
    var keep = false

    func validate() throws {
        try require("seconds", seconds, in: 2...3600)
        try require("return", returning, in: 10_000...20_000_000)
        try require("rate", rate, in: 1000...100_000)
        try require("session-seconds", sessionSeconds, in: 2...60)
        try require("shards", shards, in: 1...16)
        _ = try chosen()
    }

    func run() async throws {
        let passes = try await BenchmarkCommand.withDirectory("isolation", keep: keep, scaling ? scale : compare)
        if common.judge, !passes { throw ExitCode.failure }
    }

    private func chosen() throws -> [String] { try names(in: scenarios, of: Self.known, option: "scenarios") }

    private func bench(_ name: String, in directory: String, _ interruption: Interruption) throws -> IsolationBench {
        let directory = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        say("\(name), in \(directory)")
        return IsolationBench(
            transport: transport,
            executable: try Programs.belfry(common.belfry),
            directory: directory,
            seconds: seconds,
            sessionSeconds: sessionSeconds,
            shards: shards,
            rate: rate,
            worker: worker.map { ", \($0)" } ?? "",
            interruption: interruption
        )
    }

    /// Says whether all bounds are kept.
    private func scale(in directory: String) async throws -> Bool {
        let report = try await bench("scaling", in: directory, Interruption()).scale()
        printResult(try report.line())
        return report.missed.isEmpty
    }

    /// Says whether all bounds are kept.
    private func compare(in directory: String) async throws -> Bool {
        let chosen = try chosen()
        let interruption = Interruption()
        var reports: [IsolationReport] = []
        func bench(_ name: String) throws -> IsolationBench { try self.bench(name, in: directory, interruption) }
        func add(_ report: IsolationReport) throws {
            reports.append(report)
            printResult(try report.line())
        }
        try add(try await bench(Self.alone).measure(nil, baseline: nil))
        let baseline = IsolationBench.Baseline(rate: reports[0].rate, p99Milliseconds: reports[0].p99Milliseconds)
        for sickness in Sickness.allCases where chosen.contains(sickness.rawValue) {
            try add(try await bench(sickness.rawValue).measure(sickness, baseline: baseline))
        }
        if chosen.contains(Self.comeback) {
            try add(try await bench(Self.comeback).comeBack(returning, baseline: baseline))
        }
        printResult(try IsolationReport.lastLine(reports))
        return reports.allSatisfy(\.missed.isEmpty)
    }
}

extension PipelineTransport: ExpressibleByArgument {}
