import Foundation
import Testing
import Workbench

extension IntegrationTests {
    /// The options of the test programs, and their tables in Tests/README.md.
    struct ProgramOptionTests {
        private static let programs = ["belfry-bench", "belfry-chaos", "belfry-simulate"]

        @Test("Every option of a test program stands in its command's table in Tests/README.md, and no other")
        func documented() throws {
            var tables = try Self.tables(ofDocument: "Tests/README.md")
            for program in Self.programs {
                for command in try Self.commands(of: program) {
                    let name = ([program] + command.words).joined(separator: " ")
                    let documented = tables.removeValue(forKey: name) ?? []
                    for names in command.optionNames {
                        #expect(!documented.isDisjoint(with: names), "\(name) --\(names[0])")
                    }
                    let known = command.optionNames.flatMap { $0 }
                    #expect(documented.subtracting(known).sorted() == [], "\(name)")
                }
            }
            #expect(tables.keys.sorted() == [], "tables of commands that are not there")
        }

        private static func commands(of program: String) throws -> [ProgramCommand] {
            let executable = URL(fileURLWithPath: try belfryExecutable()).deletingLastPathComponent()
                .appending(path: program).path
            let process = try ChildProcess(program, executable: executable, arguments: ["--experimental-dump-help"])
            let text = process.outputToEnd()
            #expect(process.wait() == 0)
            let commands = try ProgramCommand.all(inHelp: text)
            #expect(!commands.isEmpty, "\(program)")
            return commands
        }

        /// The options in the first columns of the tables, without the dashes, by the command in the table's head.
        private static func tables(ofDocument path: String) throws -> [String: Set<String>] {
            var tables: [String: Set<String>] = [:]
            var command: String?
            for line in try documentText(path).split(separator: "\n", omittingEmptySubsequences: false) {
                if let head = line.prefixMatch(of: /\| option of `([^`]+)` \|/) {
                    command = String(head.1)
                } else if !line.hasPrefix("|") {
                    command = nil
                } else if let command, let cell = line.dropFirst().split(separator: "|").first {
                    tables[command, default: []].formUnion(cell.matches(of: /--([a-z][a-z0-9-]*)/).map { String($0.1) })
                }
            }
            return tables
        }
    }
}
