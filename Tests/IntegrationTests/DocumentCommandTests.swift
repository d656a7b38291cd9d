import ArgumentParser
import Foundation
import Testing

@testable import belfry

extension IntegrationTests {
    /// The commands that documents tell people to type.
    struct DocumentCommandTests {
        private static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()

        private static func text(of path: String) throws -> String {
            try String(contentsOf: top.appending(path: path), encoding: .utf8)
        }

        @Test(
            "every belfry command in a document has options and values that the program takes",
            arguments: ["README.md", "Deploy/README.md", "Schemas/README.md", "Sources/Sandbox/README.md"]
        )
        func commands(path: String) throws {
            let commands = ShellBlocks(try Self.text(of: path)).commands
            #expect(!commands.isEmpty)
            for words in commands {
                do {
                    _ = try Belfry.parseAsRoot(words)
                } catch {
                    Issue.record("belfry \(words.joined(separator: " ")): \(Belfry.message(for: error))")
                }
            }
        }

        @Test("a command is read as a shell does")
        func reading() {
            let text = """
                ```sh
                T=$(belfry a --b "$T" 'c d') | cat   # belfry, not a command
                belfry e --f '{"g":[1]}' \\
                    h\\ i 2> j.log &
                show() { belfry k; }
                ```

                ```
                belfry is not typed here
                ```

                    belfry l    --m n     # o
                """
            #expect(
                ShellBlocks(text).commands == [
                    ["a", "--b", "$T", "c d"], ["e", "--f", #"{"g":[1]}"#, "h i"], ["k"], ["l", "--m", "n"],
                ]
            )
        }
    }
}
