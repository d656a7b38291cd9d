import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// The options of the program's commands: their order in the help, and the documents that describe them.
    struct OptionTests {
        private static let documents =
            OperatorDocumentTests.pages + [
                "README.md", "Deploy/CAPACITY.md", "Schemas/README.md", "Sources/Sandbox/README.md", "Tests/README.md",
            ]

        @Test("The help of every command begins with the options that must be given")
        func requiredFirst() throws {
            for command in try ProgramCommand.all() {
                let late = command.options.drop(while: \.isRequired).filter(\.isRequired).map(\.name)
                #expect(late == [], "\(command.name)")
            }
        }

        @Test("Every command and every option of it is described in a document, at the command's own place")
        func documented() throws {
            let passages = try Self.documents.flatMap(Self.passages(ofDocument:))
            var count = 0
            for command in try ProgramCommand.all() {
                let own = passages.filter { $0.names(command.words) }
                #expect(!own.isEmpty, "belfry \(command.name)")
                for option in command.options {
                    count += 1
                    let places = Self.common.contains(option.name) ? passages : own
                    #expect(places.contains { $0.names(option: option.name) }, "\(command.name) --\(option.name)")
                }
            }
            #expect(count > 100)
        }

        @Test("Every command and option that a document names is there, in a table of a command's options that one's")
        func exist() throws {
            let commands = try ProgramCommand.all()
            let options = Set(commands.flatMap(\.options).map(\.name)).union(Self.foreign)
            var (named, described) = (0, 0)
            // That document also names options of programs that only tests have.
            for path in Self.documents where path != "Tests/README.md" {
                for passage in try Self.passages(ofDocument: path) {
                    for words in passage.commands {
                        named += 1
                        let isThere = commands.contains { $0.words.starts(with: words) || words.starts(with: $0.words) }
                        #expect(isThere, "\(path): belfry \(words.joined(separator: " "))")
                    }
                    let owner = commands.first { passage.isOption(of: $0.words) }
                    let known = owner.map { Set($0.options.map(\.name)) } ?? options
                    for option in passage.options {
                        described += 1
                        #expect(known.contains(option), "\(path): --\(option)")
                    }
                }
            }
            #expect(named > 10 && described > 60, "\(named), \(described)")
        }

        /// Docker Compose's.
        private static let foreign: Set = ["scale", "set-file"]

        /// Options that mean the same everywhere and are described once.
        private static let common: Set = ["brokers", "config", "json"]

        @Test("A passage is a paragraph, an item, a line of code, or a row with its table's head")
        func reading() {
            let passages = Self.passages(
                in: """
                    Words of `belfry a b` and
                    `--one`.
                    - `a c` has
                      `--two`
                    - others

                    | option of `d` | x |
                    |---|---|
                    | `--three` | |

                    ```sh
                    belfry e f --four
                    belfry e g
                    ```
                    """
            )
            func names(_ words: [String], _ option: String) -> Bool {
                passages.contains { $0.names(words) && $0.names(option: option) }
            }
            #expect(names(["a", "b"], "one") && names(["a", "c"], "two") && names(["d"], "three"))
            #expect(names(["e", "f"], "four") && !names(["e", "g"], "four") && !names(["a", "b"], "two"))
            #expect(!names(["b"], "one") && !names(["d"], "thre"))
            #expect(passages.flatMap(\.commands) == [["a", "b"]])
            #expect(passages.flatMap(\.options) == ["one", "two", "three"])
            #expect(passages.count { $0.isOption(of: ["c", "d"]) } == 3)
            #expect(!passages.contains { $0.isOption(of: ["a"]) })
        }

        /// A piece of a document that is read as one.
        private struct Passage {
            var text: String

            /// As `belfry a b` or as code that begins with all its words, or in a table of its options.
            func names(_ words: [String]) -> Bool {
                Self.has("(belfry +|`)\(words.joined(separator: " +"))(?=[` ]|$)", text) || isOption(of: words)
            }

            /// In a table of the command's options.
            func isOption(of words: [String]) -> Bool { text.contains("option of `\(words[words.count - 1])`") }

            /// The words behind `belfry` at the beginning of a piece of code.
            var commands: [[String]] {
                text.matches(of: /`belfry ([a-z]+(?:[ -][a-z]+)*)/).map { $0.1.split(separator: " ").map(String.init) }
            }

            /// The options at the beginning of a piece of code, without the dashes.
            var options: [String] { text.matches(of: /`--([a-z][a-z-]*)/).map { String($0.1) } }

            func names(option: String) -> Bool { Self.has("(^|[` (])--\(option)(?![-a-z])", text) }

            private static func has(_ pattern: String, _ text: String) -> Bool {
                text.range(of: pattern, options: .regularExpression) != nil
            }
        }

        private static func passages(ofDocument path: String) throws -> [Passage] {
            passages(in: try String(contentsOf: Repository.top.appending(path: path), encoding: .utf8))
        }

        private static func passages(in document: String) -> [Passage] {
            var passages: [Passage] = []
            var paragraph: [Substring] = []
            var head: Substring?
            var isCode = false
            func end() {
                if !paragraph.isEmpty { passages.append(Passage(text: paragraph.joined(separator: " "))) }
                paragraph = []
            }
            for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.hasPrefix("```") {
                    end()
                    isCode.toggle()
                } else if isCode || line.hasPrefix("    ") {
                    passages.append(Passage(text: line.drop { $0 == " " }.description))
                } else if line.hasPrefix("|") {
                    passages.append(Passage(text: "\(head ?? "") \(line)"))
                    head = head ?? line
                } else {
                    head = nil
                    if line.isEmpty || line.hasPrefix("- ") { end() }
                    if !line.isEmpty { paragraph.append(line) }
                }
            }
            end()
            return passages
        }
    }
}
