import ArgumentParser
import Foundation

/// Measures our programs against floors in C, or against themselves without what troubles them.
@main
struct BenchmarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench",
        abstract: "Measures our programs against floors in C, or against themselves without what troubles them.",
        discussion: """
            Results are lines of JSON on stdout; progress and tables go to stderr. Exit codes: 0, 1 (failed, or a \
            target was missed), 64 (usage).
            """,
        subcommands: [ListCommand.self, RunCommand.self, SmokeCommand.self]
    )

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let names = RunCommand.severalScenarios(in: words) else { return await main(words) }
        do {
            try await RunCommand.run(names.map { [$0] })
        } catch {
            exit(withError: error)
        }
    }

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
            ChildRegistry.leaveSignals()
            workspace.remove()
        }
        do {
            try body(Servers(programs: programs, workspace: workspace))
        } catch let error as BenchmarkError {
            say("\(error)\n\(workspace.logTails())")
            throw ExitCode.failure
        }
    }

    /// Runs a scenario in a directory of its own, which stays with its logs unless the scenario passes.
    ///
    /// - Parameters:
    ///   - keep: it stays in any case.
    ///   - body: returns whether the scenario passes.
    static func withDirectory(
        _ name: String,
        keep: Bool = false,
        _ body: (String) async throws -> Bool
    ) async throws -> Bool {
        let name = "belfry-\(name)-\(ProcessInfo.processInfo.processIdentifier)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        do {
            let passes = try await body(directory)
            if passes, !keep {
                try? FileManager.default.removeItem(atPath: directory)
            } else {
                say("logs are in \(directory)")
            }
            return passes
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }
}

/// Lists the scenarios.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the scenarios.")

    func run() {
        for scenario in BenchmarkScenario.all {
            print(scenario.name.padding(toLength: 11, withPad: " ", startingAt: 0) + scenario.abstract)
        }
    }
}

/// Runs one scenario as its options say, or several with their defaults.
struct RunCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "run",
            abstract: "Runs a scenario; its options follow its name. Several names: each with its defaults.",
            discussion: "'belfry-bench run NAME --help' tells a scenario's options and the fields of its results.",
            subcommands: BenchmarkScenario.all.map(\.command),
            defaultSubcommand: WorkerBenchmarkCommand.self
        )
    }

    /// The names behind `run` if there are several, and nothing else.
    static func severalScenarios(in words: [String]) -> [String]? {
        let names = words.dropFirst()
        let known = Set(BenchmarkScenario.all.map(\.name))
        return words.first == configuration.commandName && names.count > 1 && known.isSuperset(of: names)
            ? Array(names) : nil
    }

    /// Runs scenarios one after the other, each to its end, also when others fail.
    ///
    /// - Parameter invocations: each a name and its options.
    static func run(_ invocations: [[String]]) async throws {
        let interruption = Interruption()
        var hasFailed = false
        for words in invocations where !interruption.hasCome {
            say(words.joined(separator: " "))
            do {
                var command = try parseAsRoot(words)
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            } catch {
                if !(error is ExitCode) { say(fullMessage(for: error)) }
                hasFailed = true
            }
        }
        if hasFailed || interruption.hasCome { throw ExitCode.failure }
    }
}

/// Runs a little of the scenarios that prove safety, or that the programs in C still work.
struct SmokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "smoke",
        abstract: "Runs shortened scenarios: times are not judged, but that nothing is lost or repeated."
    )

    func run() async throws {
        try await RunCommand.run(BenchmarkScenario.all.compactMap(\.smoke))
    }
}

/// A failure, in words for the person who started the benchmark.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Prints a line of results on stdout, at once: what was measured so far is there if the run is ended.
func printResult(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
}
