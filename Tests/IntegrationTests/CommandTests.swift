import Foundation
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    struct CommandTests {
        /// The demo's last line.
        private struct Summary: Decodable {
            struct Gateway: Decodable {
                var accepted: Int
                var distinct: Int
                var rejected: [String: Int]
                var discarded: Int
            }

            var published: Int
            var outcomes: [String: Int]
            var gateway: Gateway
            var languages: [String: Int]
            var badges: [String: Int]
            var tombstones: Int
            var lost: Int
            var duplicates: Int
            var resent: Int
            var seconds: Double
        }

        @Test("The demo ends with 0 and a last line that balances")
        func demo() throws {
            let log = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString).log"
            let demo = try ChildProcess(
                "demo",
                executable: try belfryExecutable(),
                arguments: ["demo", "--notifications", "20000"],
                logFile: log,
                leadsGroup: true
            )
            defer { demo.kill() }
            let code = try demo.wait(within: .seconds(300))
            #expect(code == 0, "\(demo.log)")
            var lines: [String] = []
            while let line = try? demo.nextLine(within: patience) { lines.append(line) }
            let summary = try JSONDecoder().decode(Summary.self, from: Data(try #require(lines.last).utf8))
            let outcomes = summary.outcomes
            #expect(summary.published == 20_000)
            #expect(outcomes.values.reduce(0, +) == summary.published)
            #expect(summary.gateway.distinct == (outcomes["confirmed"] ?? 0) + (outcomes["presumed"] ?? 0))
            #expect(summary.lost == 0)
            #expect(summary.duplicates == summary.gateway.accepted - summary.gateway.distinct)
            #expect(summary.tombstones > 0)
            for language in ["en", "de", "pt-BR"] { #expect(summary.languages[language] ?? 0 > 0, "\(language)") }
            #expect(summary.badges["right"] ?? 0 > 0 && summary.badges["wrong"] == 0)
            for kind in ["confirmed", "presumed", "rejected", "tombstoned", "expired", "dead_lettered"] {
                #expect(outcomes[kind] ?? 0 > 0, "\(kind)")
            }
            #expect(summary.gateway.rejected["8"] == outcomes["rejected"])
            try FileManager.default.removeItem(atPath: log)
        }

        @Test("Tokens, register, publish and outcomes work hand in hand")
        func tools() async throws {
            // The pipeline itself is made of `broker`, `sandbox certificates` and `sandbox serve`.
            try await withPipeline { pipeline, _ in
                try pipeline.startWorker()
                try pipeline.startRegistrar()
                let config = pipeline.configurationFile
                let file = "\(pipeline.directory)/tokens.txt"
                let tokens = try pipeline.run(
                    "sandbox",
                    "tokens",
                    "--pki",
                    pipeline.pki,
                    "--topic",
                    news,
                    "--first",
                    "10",
                    "--count",
                    "3"
                )
                try tokens.write(toFile: file, atomically: true, encoding: .utf8)
                let hex = tokens.split(separator: "\n").map(String.init)
                #expect(hex.count == 3)

                let registered = try pipeline.run(
                    "register",
                    "--brokers",
                    pipeline.brokers,
                    "--app",
                    news,
                    "--token-file",
                    file,
                    "--json"
                )
                #expect(try Self.object(registered)["tokens"] as? Int == 3)
                let published = try pipeline.run(
                    "publish",
                    "--config",
                    config,
                    "--app",
                    news,
                    "--token-file",
                    file,
                    "--payload",
                    #"{"aps":{"alert":"Hello"}}"#,
                    "--request-id",
                    "hello-1",
                    "--json"
                )
                #expect(try Self.object(published)["request_id"] as? String == "hello-1")
                let lines = try pipeline.run(
                    "outcomes",
                    "--config",
                    config,
                    "--from",
                    "beginning",
                    "--count",
                    "3",
                    "--json"
                )
                let outcomes = try lines.split(separator: "\n").map { try Self.object(String($0)) }
                #expect(outcomes.count == 3)
                #expect(Set(outcomes.compactMap { $0["token"] as? String }) == Set(hex))
                for outcome in outcomes {
                    #expect(outcome["outcome"] as? String == "presumed")
                    #expect(outcome["bundle"] as? String == news)
                    #expect(outcome["request_id"] as? String == "hello-1")
                }
                #expect(try await pipeline.sandbox.stats().accepted == 3)
            }
        }

        @Test("Publish takes tokens through a pipe and refuses a bad payload with 64 before anything is sent")
        func pipe() async throws {
            try await withPipeline { pipeline, kafka in
                let belfry = try belfryExecutable()
                let script = #"""
                    "$0" sandbox tokens --pki "$1" --topic com.example.news --count 5 |
                        "$0" publish --brokers "$2" --app com.example.news --payload "$3"
                    """#
                func publish(_ payload: String) throws -> ChildProcess {
                    try ChildProcess(
                        "shell",
                        executable: "/bin/sh",
                        arguments: ["-c", script, belfry, pipeline.pki, pipeline.brokers, payload],
                        logFile: "\(pipeline.directory)/shell.log",
                        leadsGroup: true
                    )
                }
                let refused = try publish(#"{"aps":{"badge":5,}}"#)
                defer { refused.kill() }
                #expect(try refused.wait(within: patience) == 64)
                #expect(refused.log.contains("payload"), "\(refused.log)")
                let taken = try publish(#"{"aps":{"badge":5}}"#)
                defer { taken.kill() }
                #expect(try taken.wait(within: patience) == 0)
                #expect(try taken.nextLine(within: patience).contains("published 5 tokens"))
                try pipeline.startWorker()
                try kafka.wait(for: "outcomes") { kafka.books.outcomes.count >= 5 }
                #expect(try await pipeline.sandbox.stats().accepted == 5)
            }
        }

        private static func object(_ text: String) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
    }
}
