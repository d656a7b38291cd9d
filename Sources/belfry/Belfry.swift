import ArgumentParser
import BelfrySupport
import BelfryTools
import Sender
import TokenRoles

/// The command line: `belfry <command>`. Data goes to standard output, diagnostics to standard error; the exit code is
/// one of `ExitStatus`.
@main
struct Belfry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry",
        abstract: "A push pipeline for APNs: from Kafka to a device and back.",
        version: BelfryVersion.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Roles",
                subcommands: [
                    RoleCommand<WorkerRole>.self, RoleCommand<RegistrarRole>.self, RoleCommand<HarvesterRole>.self,
                    ConsoleCommand.self,
                ]
            ),
            CommandGroup(
                name: "Tools",
                subcommands: [
                    PublishCommand.self, RegisterCommand.self, OutcomesCommand.self, DeadLettersCommand.self,
                    AppsCommand.self, TokensCommand.self, TopicsCommand.self, OffsetsCommand.self,
                    CertificatesCommand.self, ChannelsCommand.self, ConfigCommand.self, PlanCommand.self,
                ]
            ),
            CommandGroup(
                name: "Trying out",
                subcommands: [DemoCommand.self, BrokerCommand.self, SandboxCommand.self]
            ),
        ]
    )

    static func main() async {
        do {
            let words = FormerSpelling.replaced(in: Array(CommandLine.arguments.dropFirst()))
            if let problem = misspelling(in: words) { throw ToolError.invalidInput([problem]) }
            var command = try parseAsRoot(words)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            exit(explaining: error)
        }
    }

    /// Ends the process: with the parser's message and code where the parser or a command asked for it (help, version,
    /// what was typed wrong, `ExitCode`), else with the error's own words and the code that fits it.
    private static func exit(explaining error: any Error) -> Never {
        let status = ExitStatus(for: error)
        if status == .failed, exitCode(for: error) != .failure || error is ExitCode { exit(withError: error) }
        // The reason is the last that is said.
        ProcessLog.flush()
        let lines = TerminalText.lines("\(error)").split(separator: "\n")
        // No error ends a command without a word; a reader that stands still does not keep it from its end.
        let words = (lines.isEmpty ? ["\(type(of: error))"] : lines).map { "belfry: \($0)\n" }
        StandardStream.error.write(Array(words.joined().utf8), within: ProcessLog.patience)
        exit(withError: ExitCode(status.rawValue))
    }
}
