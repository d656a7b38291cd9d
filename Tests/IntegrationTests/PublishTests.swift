import Foundation
import KafkaClient
import LocalPipeline
import PushSchemas
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// `belfry publish` of a file.
    struct PublishTests {
        @Test("With --wait publish ends when every token has its outcome: with 0, or with 1 if one failed")
        func wait() async throws {
            try await withPipeline { pipeline, _ in
                try pipeline.startWorker()
                let file = "\(pipeline.directory)/tokens.txt"
                let tokens = ["sandbox", "tokens", "--pki", pipeline.pki, "--topic", news, "--count", "700"]
                let listed = try Self.run(tokens, in: pipeline.directory)
                #expect(listed.code == 0)
                try listed.lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
                let words = [
                    "publish", "--config", pipeline.configurationFile, "--app", news, "--token-file", file,
                    "--payload", #"{"aps":{"alert":"Hello"}}"#, "--wait", "--json",
                ]
                let accepted = try Self.run(words, in: pipeline.directory)
                #expect(accepted.code == 0, "\(accepted.lines)")
                #expect(try Self.object(try #require(accepted.lines.first))["records"] as? Int == 2)
                #expect(try Self.counts(accepted.lines.dropFirst()) == ["presumed": 700])
                let late = try Self.run(words + ["--expiration", "1"], in: pipeline.directory)
                #expect(late.code == 1, "\(late.lines)")
                #expect(try Self.counts(late.lines.dropFirst()) == ["expired": 700])
                #expect(try await pipeline.sandbox.stats().accepted == 700)
            }
        }

        @Test("Published into a lane, a file has the outcomes of that lane alone", arguments: RequestLane.allCases)
        func lanes(lane: RequestLane) async throws {
            try await withPipeline { options in
                options.lanes = RequestLane.allCases
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                let tokens = try pipeline.tokens(of: news, first: 0, count: 40)
                let file = "\(pipeline.directory)/tokens"
                try Data(tokens.joined()).write(to: URL(fileURLWithPath: file))
                // At the same places, and too late for the push service.
                var records = Records(tokens: tokens)
                for other in RequestLane.allCases where other != lane {
                    try kafka.publish([try records.record(to: tokens) { $0.expiration = 1 }], into: other)
                }
                let words = [
                    "publish", "--config", pipeline.configurationFile, "--app", news, "--token-file", file,
                    "--token-format", "packed", "--payload", #"{"aps":{"alert":"Hello"}}"#, "--wait", "--json",
                    "--report", "all", "--lane", lane.rawValue,
                ]
                let published = try Self.run(words, in: pipeline.directory)
                #expect(published.code == 0, "\(published.lines)")
                let topic = try Self.object(try #require(published.lines.first))["topic"] as? String
                #expect(topic == "push.requests" + lane.suffix)
                #expect(try Self.counts(published.lines.dropFirst()) == ["presumed": 40])
                try kafka.wait(for: "the outcomes of all lanes") { kafka.books.outcomes.count == 120 }
                #expect(kafka.books.count(.expired) == 80)
                #expect(try await pipeline.sandbox.stats().accepted == 40)
            }
        }

        @Test("Into a lane without a Kafka topic publish publishes nothing, and says which is missing")
        func missingLane() throws {
            let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 1)])
            defer { broker.close() }
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let process = try Self.start(
                [
                    "publish", "--brokers", broker.bootstrapServers, "--app", news, "--lane", "bulk", "--token",
                    String(repeating: "ab", count: 32), "--payload", #"{"aps":{}}"#,
                ],
                in: directory
            )
            defer { process.kill() }
            #expect(try process.wait(within: patience) == 1)
            #expect(process.log.contains("push.requests.bulk: it does not exist"), "\(process.log)")
            #expect(process.log.contains("belfry topics create makes it"), "\(process.log)")
        }

        @Test("Interrupted with a checkpoint publish says that it goes on, and does so as the same request")
        func interruption() throws {
            let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 1)])
            defer { broker.close() }
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            var random = SeededGenerator(seed: 6)
            let tokens = (0..<700).map { _ in random.bytes(32) }
            try Data(tokens.joined()).write(to: URL(fileURLWithPath: "\(directory)/tokens"))
            let words = [
                "publish", "--brokers", broker.bootstrapServers, "--app", news, "--token-file", "\(directory)/tokens",
                "--token-format", "packed", "--payload", #"{"aps":{}}"#, "--checkpoint", "\(directory)/checkpoint",
            ]
            let reader = try KafkaTopicReader(
                properties: ["bootstrap.servers": broker.bootstrapServers],
                topic: "push.requests",
                from: .beginning,
                timeoutMilliseconds: 30_000
            )
            defer { reader.close() }
            var published = Published()
            // So slow that it is not done when its first record is there.
            let first = try Self.start(words + ["--rate", "20"], in: directory)
            defer { first.kill() }
            try published.read(reader, until: { $0.tokens.count >= 20 })
            first.signal(SIGINT)
            #expect(try first.wait(within: patience) == 1)
            #expect(first.log.contains("worker.dedupe-window is off"), "\(first.log)")
            #expect(first.log.contains("interrupted: the same command goes on"), "\(first.log)")
            #expect(published.tokens.count < 700)
            let second = try Self.start(words + ["--rate", "100000"], in: directory)
            defer { second.kill() }
            #expect(try second.wait(within: patience) == 0, "\(second.log)")
            try published.read(reader, until: { $0.tokens.count == 700 })
            #expect(published.tokens == Set(tokens))
            #expect(published.requestIDs.count == 1)
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/checkpoint"))
            try FileManager.default.removeItem(atPath: directory)
        }

        /// The requests in a topic.
        private struct Published {
            var tokens: Set<[UInt8]> = []
            var requestIDs: Set<String> = []

            mutating func read(_ reader: KafkaTopicReader, until isEnough: (Published) -> Bool) throws {
                let deadline = ContinuousClock.now + patience
                while !isEnough(self) {
                    try #require(ContinuousClock.now < deadline, "\(tokens.count) tokens are there")
                    guard let batch = reader.read(max: 100, timeoutMilliseconds: 100) else { continue }
                    for index in 0..<batch.count {
                        let view = try SendRequestView(decoding: batch[index].value, as: .protobuf)
                        requestIDs.insert(String(decoding: view.requestID, as: UTF8.self))
                        for token in 0..<view.tokenCount { tokens.insert(Array(view.token(at: token).bytes)) }
                    }
                }
            }
        }

        private static func counts(_ lines: some Sequence<String>) throws -> [String: Int] {
            var counts: [String: Int] = [:]
            for line in lines {
                let row = try object(line)
                counts[try #require(row["outcome"] as? String), default: 0] += try #require(row["count"] as? Int)
            }
            return counts
        }

        private static func object(_ text: String) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }

        private static func run(_ words: [String], in directory: String) throws -> (code: Int32, lines: [String]) {
            let process = try start(words, in: directory)
            defer { process.kill() }
            let code = try process.wait(within: patience)
            return (code, process.outputToEnd().split(separator: "\n").map(String.init))
        }

        private static func start(_ words: [String], in directory: String) throws -> ChildProcess {
            try ChildProcess(
                words[0],
                executable: try belfryExecutable(),
                arguments: words,
                logFile: "\(directory)/\(UUID().uuidString).log",
                leadsGroup: true
            )
        }
    }
}
