import ArgumentParser
import Foundation
import LocalPipeline

/// Measures whether one sick topic harms a healthy one in the same partitions and processes.
///
/// A JSON line per scenario on stdout, and one for all; progress goes to stderr. Exit codes: 0, 1 (failed, or a bound
/// was missed), 64 (usage).
@main
struct IsolationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench-isolation",
        abstract: "Measures a healthy topic beside sick ones."
    )

    @Option(
        help: """
            Between workers and gateways: \(PipelineTransport.allCases.map(\.rawValue)). Over http2 both topics use \
            the provider key of one team, and share connections unless the sick one's gateway is the trouble.
            """
    )
    var transport = PipelineTransport.binary

    @Option(help: "How long each scenario is measured, its take-over aside.")
    var seconds = 60

    @Option(help: "Scenarios, separated by commas: \(Selection.known.joined(separator: ", ")). Default: all.")
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

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Flag(help: "Bounds that are missed do not make it fail.")
    var noJudge = false

    @Flag(help: "Leave the directory with logs.")
    var keep = false

    func validate() throws {
        guard (2...3600).contains(seconds) else { throw ValidationError("--seconds: 2...3600, not \(seconds)") }
        guard (10_000...20_000_000).contains(returning) else {
            throw ValidationError("--return: 10000...20000000, not \(returning)")
        }
        guard (1000...100_000).contains(rate) else { throw ValidationError("--rate: 1000...100000, not \(rate)") }
        guard (2...60).contains(sessionSeconds) else {
            throw ValidationError("--session-seconds: 2...60, not \(sessionSeconds)")
        }
        guard (1...16).contains(shards) else { throw ValidationError("--shards: 1...16, not \(shards)") }
        _ = try Selection(scenarios)
    }

    func run() async throws {
        let name = "belfry-isolation-\(ProcessInfo.processInfo.processIdentifier)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        do {
            let hasPassed = try await scaling ? scale(in: directory) : compare(in: directory)
            if hasPassed, !keep {
                try? FileManager.default.removeItem(atPath: directory)
            } else {
                say("logs are in \(directory)")
            }
            if !hasPassed, !noJudge { throw ExitCode.failure }
        } catch let error as ExitCode {
            throw error
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }

    private func bench(_ name: String, in directory: String, _ interruption: Interruption) throws -> IsolationBench {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let directory = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        say("\(name), in \(directory)")
        return IsolationBench(
            transport: transport,
            executable: belfry ?? beside.appendingPathComponent("belfry").path,
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
        print(try report.line())
        return report.missed.isEmpty
    }

    /// Says whether all bounds are kept.
    private func compare(in directory: String) async throws -> Bool {
        let selection = try Selection(scenarios)
        let interruption = Interruption()
        var reports: [IsolationReport] = []
        func bench(_ name: String) throws -> IsolationBench { try self.bench(name, in: directory, interruption) }
        func add(_ report: IsolationReport) throws {
            reports.append(report)
            print(try report.line())
            fflush(nil)
        }
        try add(try await bench("alone").measure(nil, baseline: nil))
        let baseline = IsolationBench.Baseline(rate: reports[0].rate, p99Milliseconds: reports[0].p99Milliseconds)
        for sickness in selection.sicknesses {
            try add(try await bench(sickness.rawValue).measure(sickness, baseline: baseline))
        }
        if selection.hasReturn { try add(try await bench("return").comeBack(returning, baseline: baseline)) }
        print(try IsolationReport.lastLine(reports))
        return reports.allSatisfy(\.missed.isEmpty)
    }
}

extension PipelineTransport: ExpressibleByArgument {}

/// The scenarios that are played. The healthy topic alone is always the first.
struct Selection: Equatable {
    static let comeback = "return"
    static let known = Sickness.allCases.map(\.rawValue) + [comeback]

    var sicknesses: [Sickness]
    var hasReturn: Bool

    /// - Parameter list: separated by commas; nil: all.
    init(_ list: String?) throws {
        guard let list else {
            (sicknesses, hasReturn) = (Sickness.allCases, true)
            return
        }
        let names = list.split(separator: ",").map(String.init)
        if let unknown = names.first(where: { !Self.known.contains($0) }) {
            throw ValidationError("--scenarios: \(Self.known.joined(separator: ", ")), not \(unknown)")
        }
        sicknesses = Sickness.allCases.filter { names.contains($0.rawValue) }
        hasReturn = names.contains(Self.comeback)
    }
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("isolation: \(text)\n".utf8))
}
