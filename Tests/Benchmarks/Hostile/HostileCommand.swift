import ArgumentParser
import Foundation
import Workbench

/// Measures what records of a publisher with bad intentions do to a worker: how long one holds the shard, and with it
/// every other topic, and how much memory the worker takes beside what it counts.
///
/// A JSON line per case on stdout, and one for all; progress goes to stderr. Exit codes: 0, 1 (failed, or a target was
/// missed), 64 (usage).
@main
struct HostileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench-hostile",
        abstract: "Measures how long hostile records hold a worker, and how much of its memory it counts."
    )

    /// Names of the cases whose records wait.
    private static let waiting = ["waiting-headers", "waiting-tokens"]

    @Option(help: "Records of each case that aims at a decoder or renderer.")
    var rounds = 5

    @Option(help: "Most bytes of their values.")
    var bytes = (1 << 20) - 8192

    @Option(help: "Records that wait for a gateway, in each case that aims at memory.")
    var waiting = 4000

    @Option(help: "Cases, separated by commas. Default: all.")
    var cases: String?

    @Option(help: "Of what is random in the records.")
    var seed: UInt64 = 1

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Flag(inversion: .prefixedNo, help: "A missed target is a failure.")
    var judge = true

    private var names: [String] { HostileCase.allCases.map(\.rawValue) + Self.waiting }

    /// The names of the cases to run.
    private var chosen: [String] { cases.map { $0.split(separator: ",").map(String.init) } ?? names }

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000") }
        guard (4096...1 << 20).contains(bytes) else { throw ValidationError("--bytes: 4096...1048576") }
        guard (100...4000).contains(waiting) else { throw ValidationError("--waiting: 100...4000") }
        if let unknown = chosen.first(where: { !names.contains($0) }) {
            throw ValidationError("--cases: there is no \(unknown), but \(names.joined(separator: ", "))")
        }
    }

    func run() async throws {
        let name = "belfry-hostile-\(ProcessInfo.processInfo.processIdentifier)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        do {
            let passed = try await measure(in: directory)
            try? FileManager.default.removeItem(atPath: directory)
            if judge, !passed { throw ExitCode.failure }
        } catch let error as ExitCode {
            throw error
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }

    /// Runs the cases; returns whether all of them passed.
    private func measure(in directory: String) async throws -> Bool {
        var reports: [HostileReport] = []
        func tell(_ report: HostileReport) throws {
            print(try report.line())
            fflush(nil)
            if report.name != "total" { reports.append(report) }
        }
        let aims = HostileCase.allCases.filter { chosen.contains($0.rawValue) }
        if !aims.isEmpty {
            let scenario = try start(in: "\(directory)/holding", isReachable: true)
            defer { scenario.stop() }
            for (number, aim) in aims.enumerated() {
                say(aim.rawValue)
                let seed = seed &* 1000 &+ UInt64(number)
                try tell(try await scenario.hold(aim, rounds: rounds, bytes: bytes, seed: seed))
            }
        }
        for name in Self.waiting where chosen.contains(name) {
            let scenario = try start(in: "\(directory)/\(name)", isReachable: false)
            defer { scenario.stop() }
            say(name)
            var random = SeededGenerator(seed: seed)
            // Small ones: what a record takes beside its bytes weighs most there.
            let isSmall = name == "waiting-tokens"
            let report = try await scenario.wait(name, count: isSmall ? 50 * waiting : waiting) {
                if isSmall { return Self.small(&random) }
                return HostileCase.headersAtLimit.record(of: HostileScenario.hostile, bytes: 4096, &random)
            }
            try tell(report)
        }
        let total = HostileReport.total(of: reports)
        try tell(total)
        return total.passed
    }

    private func start(in directory: String, isReachable: Bool) throws -> HostileScenario {
        say("starting broker, Redis, sandbox and worker in \(directory)")
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let scenario = try HostileScenario(
            executable: belfry ?? beside.appendingPathComponent("belfry").path,
            directory: directory,
            isReachable: isReachable
        )
        try scenario.prepare()
        return scenario
    }

    /// A request to one token, as small as it may be.
    private static func small(_ random: inout SeededGenerator) -> HostileRecord {
        var value = ProtobufBytes()
        value.field(3, HostileCase.payload)
        value.field(6, random.bytes(32))
        return HostileRecord(key: Array(HostileScenario.hostile.utf8), value: value.bytes)
    }
}

/// Says something on stderr.
private func say(_ text: String) {
    FileHandle.standardError.write(Data("hostile: \(text)\n".utf8))
}
