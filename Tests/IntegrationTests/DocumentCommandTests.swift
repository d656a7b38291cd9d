import ArgumentParser
import Foundation
import FoundationNetworking
import LocalPipeline
import Testing

@testable import belfry

extension IntegrationTests {
    /// The commands that documents tell people to type.
    struct DocumentCommandTests {
        @Test(
            "Every belfry command in a document has options and values that the program takes",
            arguments: [
                "README.md", "Deploy/RUN.md", "Deploy/OPERATE.md", "Deploy/CONFIGURATION.md", "Deploy/CAPACITY.md",
                "Schemas/README.md", "Sources/Sandbox/README.md",
            ]
        )
        func commands(path: String) throws {
            let commands = try ShellBlocks(documentText(path)).commands(of: "belfry")
            #expect(!commands.isEmpty)
            for words in commands {
                do {
                    _ = try Belfry.parseAsRoot(words)
                } catch {
                    Issue.record("belfry \(words.joined(separator: " ")): \(Belfry.message(for: error))")
                }
            }
        }

        @Test(
            "Every request to the control port in a document is answered",
            arguments: ["README.md", "Sources/Sandbox/README.md"]
        )
        func requests(path: String) async throws {
            try await withPipeline { pipeline, _ in
                let commands = try ShellBlocks(documentText(path)).commands(of: "curl")
                #expect(!commands.isEmpty)
                // The answer to -N has no end.
                for words in commands where !words.contains("-N") {
                    let named = try #require(words.last { $0.hasPrefix("http") })
                    // The provider API is another port's.
                    guard named.hasPrefix("http://") else { continue }
                    let port = pipeline.controlPort
                    let address = named.replacing("127.0.0.1:2190/", with: "127.0.0.1:\(port)/")
                    var request = URLRequest(url: try #require(URL(string: address)))
                    if let index = words.firstIndex(of: "-d") {
                        request.httpMethod = "POST"
                        request.httpBody = Data(words[index + 1].utf8)
                    }
                    let (body, response) = try await URLSession.shared.data(for: request)
                    let said = String(decoding: body, as: UTF8.self)
                    #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(words): \(said)")
                }
            }
        }

        @Test("A command is read as a shell does")
        func reading() throws {
            let text = """
                ```sh
                T=$(belfry a --b "$T" 'c d') | cat   # belfry, not a command
                belfry e --f '{"g":[1]}' \\
                    h\\ i 2> j.log &
                show() { belfry k; }
                helm install \\
                    belfry there
                ```

                ```
                belfry is not typed here
                ```

                    belfry l    --m n     # o
                    kubectl create namespace belfry --p; belfry q
                    install r belfry s && until belfry t; do belfry u; done

                ```
                belfry is not typed here either, nor printed
                ```
                """
            let blocks = ShellBlocks(text)
            #expect(blocks.outputs == [0: "belfry is not typed here"])
            #expect(
                try blocks.commands(of: "belfry") == [
                    ["a", "--b", "$T", "c d"], ["e", "--f", #"{"g":[1]}"#, "h i"], ["k"], ["l", "--m", "n"],
                    ["q"], ["t"], ["u"],
                ]
            )
        }
    }
}
