import Testing

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
        let tokens = try TokensReport(tokens: 1, lookups: 1, notifications: 1).line()
        #expect(try TokensReport.fields.unexplained(inLine: tokens) == [])
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
