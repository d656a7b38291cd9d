import ArgumentParser
import Foundation

/// Measures one of our servers against its floor in C, in one run and on the same input.
///
/// Results are lines of JSON on stdout; progress and tables go to stderr. Exit codes: 0, 1 (failed, or a target was
/// missed), 64 (usage).
@main
struct BenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-bench",
        abstract: "Measures worker, sandbox, token state or publisher against their floors.",
        subcommands: [
            WorkerBenchmarkCommand.self, SandboxBenchmarkCommand.self, TokensBenchmarkCommand.self,
            HTTP2BenchmarkCommand.self, PublishBenchmarkCommand.self, LatencyBenchmarkCommand.self,
            RegistrarBenchmarkCommand.self, WorkersBenchmarkCommand.self,
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
