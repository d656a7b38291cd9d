import ArgumentParser
import Workbench

/// Measures what records of a publisher with bad intentions do to a worker: how long one holds the shard, and with it
/// every other topic, and how much memory the worker takes beside what it counts.
///
/// A JSON line per case, and one for all.
struct HostileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            Records that aim at a decoder, a renderer or the counting of bytes come each between two of a healthy \
            topic in the same shard; one line for each case, and one for all (total). A case of waiting-… lies behind \
            a gateway that cannot be reached. Debug builds miss worst_ms.
            """,
        tables: [HostileReport.fields]
    )

    @OptionGroup var common: CommonOptions

    @OptionGroup var random: SeedOption

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

    /// The names of the cases to run.
    private func chosen() throws -> [String] {
        try names(in: cases, of: HostileCase.allCases.map(\.rawValue) + Self.waiting, option: "cases")
    }

    func validate() throws {
        try require("rounds", rounds, in: 1...1000)
        try require("bytes", bytes, in: 4096...1 << 20)
        try require("waiting", waiting, in: 100...4000)
        _ = try chosen()
    }

    func run() async throws {
        let passes = try await BenchmarkCommand.withDirectory("hostile", measure)
        if common.judge, !passes { throw ExitCode.failure }
    }

    /// Runs the cases; returns whether all of them passed.
    private func measure(in directory: String) async throws -> Bool {
        var reports: [HostileReport] = []
        func tell(_ report: HostileReport) throws {
            printResult(try report.line())
            if report.name != "total" { reports.append(report) }
        }
        let chosen = try chosen()
        let aims = HostileCase.allCases.filter { chosen.contains($0.rawValue) }
        if !aims.isEmpty {
            let scenario = try start(in: "\(directory)/holding", isReachable: true)
            defer { scenario.stop() }
            for (number, aim) in aims.enumerated() {
                say(aim.rawValue)
                let seed = random.seed &* 1000 &+ UInt64(number)
                try tell(try await scenario.hold(aim, rounds: rounds, bytes: bytes, seed: seed))
            }
        }
        for name in Self.waiting where chosen.contains(name) {
            let scenario = try start(in: "\(directory)/\(name)", isReachable: false)
            defer { scenario.stop() }
            say(name)
            var random = SeededGenerator(seed: random.seed)
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
        let scenario = try HostileScenario(
            executable: try Programs.belfry(common.belfry),
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
