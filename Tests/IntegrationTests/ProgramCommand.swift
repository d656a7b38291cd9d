import ArgumentParser
import Foundation

@testable import belfry

/// A command of the program that does something, as the parser describes it.
struct ProgramCommand {
    /// Without the dashes.
    struct Option {
        var name: String
        /// It has to be given.
        var isRequired: Bool
    }

    /// The words behind `belfry`.
    var words: [String]
    /// In the order of the help; without those that every command has.
    var options: [Option]

    var name: String { words.joined(separator: " ") }

    static func all() throws -> [ProgramCommand] {
        let description = try JSONDecoder().decode(Description.self, from: Data(Belfry._dumpHelp().utf8))
        return description.command.leaves(below: [])
    }

    private struct Description: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }

        struct Argument: Decodable {
            var isOptional: Bool
            /// None: its place says what it is.
            var names: [Name]?
        }

        struct Command: Decodable {
            private static let everywhere: Set = ["help", "version"]

            var commandName: String
            var subcommands: [Command]?
            var arguments: [Argument]?

            func leaves(below words: [String]) -> [ProgramCommand] {
                let below = (subcommands ?? []).filter { $0.commandName != "help" }
                guard below.isEmpty else {
                    return below.flatMap { $0.leaves(below: words + [$0.commandName]) }
                }
                let options = (arguments ?? []).compactMap { argument in
                    argument.names?.first { $0.kind == "long" }.map {
                        Option(name: $0.name, isRequired: !argument.isOptional)
                    }
                }
                let own = options.filter { !Self.everywhere.contains($0.name) }
                return [ProgramCommand(words: words, options: own)]
            }
        }

        var command: Command
    }
}
