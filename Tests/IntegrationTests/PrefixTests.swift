import APNsProtocol
import Foundation
import KafkaClient
import KafkaTestSupport
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    /// Two installations on the broker of another process, told apart by `kafka.prefix` alone.
    struct PrefixTests {
        private struct Installation {
            let prefix: String
            let pipeline: LocalPipeline

            var environment: [String: String] { ["BELFRY_KAFKA_PREFIX": prefix] }

            /// The lines that a command prints.
            func run(_ words: String...) throws -> [String] {
                let process = try ChildProcess(
                    words[0],
                    executable: try belfryExecutable(),
                    arguments: words + ["--config", pipeline.configurationFile],
                    environment: environment,
                    logFile: "\(pipeline.directory)/\(prefix)\(words[0])-\(UUID().uuidString).log"
                )
                defer { process.kill() }
                let text = process.outputToEnd()
                #expect(process.wait() == 0, "\(words): \(process.log)")
                return text.split(separator: "\n").map(String.init)
            }

            /// The places up to which the group of the workers has committed.
            func committed(of owner: String) throws -> Int64 {
                let admin = try KafkaAdmin(properties: ["bootstrap.servers": pipeline.brokers])
                defer { admin.close() }
                let places = (0..<Int32(pipeline.options.partitions)).map {
                    KafkaTopicPartition(topic: "\(prefix)push.requests", partition: $0)
                }
                return try admin.committed(group: "\(owner)belfry-worker", places, timeoutMilliseconds: 30_000)
                    .reduce(0) { $0 + max(0, $1.offset) }
            }
        }

        @Test("Two installations on one broker see neither each other's records nor each other's groups")
        func apart() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline {
                $0.kafka = broker.bootstrapServers
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, _ in
                let one = Installation(prefix: "one.", pipeline: pipeline)
                let two = Installation(prefix: "two-", pipeline: pipeline)
                for installation in [one, two] {
                    let made = try installation.run("topics", "create", "--partitions", "2")
                    #expect(made.count == 9 && made.allSatisfy { $0.hasPrefix("\(installation.prefix)push.") })
                    let check = try installation.run("config", "check", "--connect")
                    #expect(check.contains { $0.hasPrefix("note: kafka.prefix: ") && $0.contains("belfry-worker") })
                }
                let first = try PipelineClient(brokers: pipeline.brokers, prefix: one.prefix)
                defer { first.close() }
                let second = try PipelineClient(brokers: pipeline.brokers, prefix: two.prefix)
                defer { second.close() }
                let worker = try pipeline.startWorker(environment: one.environment)
                let other = try pipeline.startWorker(environment: two.environment)

                // Everything is sent once, and only the outcomes of its own installation tell of it.
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 60))
                try first.deliver(try records.record(to: Array(records.tokens[..<40])))
                #expect(try two.committed(of: two.prefix) == 0, "nothing was there for it")
                try second.deliver(try records.record(to: Array(records.tokens[40...])))
                #expect(first.books.claimed == 40 && second.books.claimed == 20)
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.accepted == 60 && gateway.distinct == 60)

                // A dead letter stays in the house, and goes back to where it comes from.
                let bad = PlannedRecord(key: news, value: Array("nonsense".utf8), isJSON: false, notifications: 1)
                try second.publish([bad])
                try second.wait(for: "the dead letter") { second.books.count(.deadLettered) == 1 }
                try second.wait(for: "its copy") { try two.run("dead-letters", "list").count == 1 }
                #expect(try one.run("dead-letters", "list") == [])
                let replayed = try two.run("dead-letters", "replay", "--yes")
                #expect(replayed == ["published 1 dead letter again"])
                try second.wait(for: "the second dead letter") { try two.run("dead-letters", "list").count == 2 }
                #expect(try one.run("outcomes", "--from", "beginning", "--end").count == 40)
                #expect(try two.run("outcomes", "--from", "beginning", "--end").count == 22)

                for each in [worker, other] { #expect(each.terminate() == 0) }
                #expect(try one.committed(of: one.prefix) == 1 && two.committed(of: two.prefix) == 3)
                #expect(try one.committed(of: two.prefix) == 0 && one.committed(of: "") == 0)
                let shown = try one.run("offsets", "show")
                #expect(shown.count == 6 && shown.allSatisfy { $0.hasPrefix("one.push.requests") }, "\(shown)")
                let urgent = try one.run("offsets", "show", "--lane", "urgent")
                #expect(urgent.count == 2 && urgent.allSatisfy { $0.hasPrefix("one.push.requests.urgent[") })
            }
        }

        @Test("Registrar and harvester of an installation read its Kafka topics in its groups, and tell which")
        func otherRoles() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline {
                $0.kafka = broker.bootstrapServers
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, _ in
                let one = Installation(prefix: "one.", pipeline: pipeline)
                _ = try one.run("topics", "create", "--partitions", "2")
                let registrar = try pipeline.startRegistrar(environment: one.environment)
                let harvester = try pipeline.startHarvester(environment: one.environment)
                for topic in ["one.push.registrations", "one.push.tombstones"] {
                    try registrar.waitForLogLine(with: "partitions assigned", topic, within: patience)
                }
                try harvester.waitForLogLine(with: "partitions assigned", "one.push.feedback", within: patience)
                let token = try #require(try pipeline.tokens(of: news, first: 0, count: 1).first)
                let hex = Hex.encode(token)
                _ = try one.run("register", "--app", news, "--token", hex)
                let client = try PipelineClient(brokers: pipeline.brokers, prefix: one.prefix)
                defer { client.close() }
                try client.wait(for: "the registration") {
                    try one.run("tokens", "list", "--app", news) == [hex]
                }
            }
        }
    }
}
