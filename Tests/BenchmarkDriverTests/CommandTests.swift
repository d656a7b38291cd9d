import Testing
import Workbench

@testable import belfry_bench

@Suite("The benchmark's commands")
struct CommandTests {
    @Test("Every scenario has a name of its own, takes its defaults, and its command knows its row")
    func table() throws {
        let all = BenchmarkScenario.all
        #expect(Set(all.map(\.name)).count == all.count && all.count > 8)
        for scenario in all {
            #expect(scenario.command.configuration.commandName == scenario.name)
            #expect(scenario.abstract.hasSuffix(".") && scenario.command.configuration.abstract == scenario.abstract)
            let command = try RunCommand.parseAsRoot([scenario.name])
            #expect(type(of: command) == scenario.command)
        }
    }

    @Test("The help of a scenario tells the fields of its results")
    func help() throws {
        let help = RunCommand.helpMessage(for: IsolationCommand.self, columns: 80)
        for passage in [IsolationReport.fields.text, ScalingReport.fields.text, "--session-seconds"] {
            #expect(help.contains(passage))
        }
    }

    @Test("Every field of a result stands in the help")
    func fields() throws {
        var samples = ContenderSamples()
        samples.rate.add(1)
        samples.cpuMicroseconds.add(1)
        let languages = LanguagesReport(languages: 12, notifications: 500)
        var sandbox = SandboxReport(devices: 1, notifications: 1)
        sandbox.beside = samples
        var worker = WorkerReport(plan: try #require(ScenarioPlan(.fanout)), notifications: 1, instruments: [])
        for role in ContenderPlan.Role.allCases {
            worker[role] = ContenderResult(
                samples: samples,
                restMilliseconds: 1,
                residentMiB: 1,
                allocations: 1,
                instructions: 1
            )
        }
        (worker.inFlight, worker.heapBytesInFlight, worker.frameBytes) = (1, 1, 1)
        let results: [(fields: HelpTable, line: String)] = [
            (HTTP2Report.fields, try HTTP2Report(notifications: 1, connections: 1, streams: 1).line()),
            (HostileReport.fields, try HostileReport(name: "a", recordBytes: 1).line()),
            (LanguagesReport.fields, try languages.line()),
            (LatencyReport.fields, try LatencyReport(rateWanted: 1, seconds: 1, partitions: 1).line()),
            (RegistrarReport.fields, try RegistrarReport(registrations: 1).line()),
            (SandboxReport.fields, try sandbox.line()),
            (TokensReport.fields, try TokensReport(tokens: 1, lookups: 1, notifications: 1).line()),
            (WorkerReport.fields, try worker.line()),
            (WorkersReport.fields, try WorkersReport(rateOfEach: 1, seconds: 1, partitions: 1).line()),
        ]
        for (fields, line) in results { #expect(try fields.unexplained(inLine: line) == []) }
        let line = try PublishReport(tokens: 1, languages: languages).line()
        let unexplained = try PublishReport.fields.unexplained(inLine: line)
        #expect(LanguagesReport.fields.unexplained(unexplained) == [])
    }

    @Test("Without a name the worker is meant")
    func unnamed() throws {
        let command = try #require(try RunCommand.parseAsRoot(["--rounds", "2"]) as? WorkerBenchmarkCommand)
        #expect(command.common.rounds == 2)
    }

    @Test("Several names mean a run of each; an option behind them is that of one")
    func several() {
        #expect(RunCommand.severalScenarios(in: ["run", "worker", "http2"]) == ["worker", "http2"])
        for line in ["run worker", "run worker --rounds", "run worker x", "list worker http2", ""] {
            #expect(RunCommand.severalScenarios(in: line.split(separator: " ").map(String.init)) == nil)
        }
    }

    @Test("The smoke judges what is safety, and no times")
    func smoke() throws {
        let commands = try BenchmarkScenario.all.compactMap(\.smoke).map { try RunCommand.parseAsRoot($0) }
        #expect(commands.count == 3)
        #expect(commands.contains { ($0 as? WorkerBenchmarkCommand)?.common.judge == false })
        #expect(commands.contains { ($0 as? BadTokensCommand)?.judge == .safety })
        #expect(commands.contains { ($0 as? IsolationCommand)?.scaling == true })
    }

    @Test("Names stand in a list, each once; without one all are meant, and an unknown one is an error")
    func lists() throws {
        func chosen(_ list: String?) throws -> [String] { try names(in: list, of: ["a", "b", "c"], option: "x") }
        #expect(try chosen(nil) == ["a", "b", "c"])
        #expect(try chosen("c,a,c") == ["c", "a"])
        for wrong in ["", "a,", "A", "a,d"] {
            #expect(throws: (any Error).self) { try chosen(wrong) }
        }
        for arguments in [["worker", "--scenarios", "http2"], ["isolation", "--scenarios", "slow,measles"]] {
            #expect(throws: (any Error).self) { try RunCommand.parseAsRoot(arguments) }
        }
        _ = try RunCommand.parseAsRoot(["isolation", "--scenarios", "alone,slow,return"])
    }
}
