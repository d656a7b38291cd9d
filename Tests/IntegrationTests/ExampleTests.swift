import Foundation
import KafkaTestSupport
import LocalPipeline
import PushSchemas
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// The programs of Schemas/examples, which have nothing of ours in them. `BELFRY_TEST_PYTHON` names a Python with
    /// confluent-kafka.
    struct ExampleTests {
        /// More than one, so that shards count.
        private static let spread: UInt32 = 4

        @Test("What the examples in shell and Python publish into a lane stands under the right keys, and is confirmed")
        func examples() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline { options in
                options.kafka = broker.bootstrapServers
                // All that is accepted there is confirmed.
                options.transport = .http2
                options.lanes = RequestLane.allCases
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                let topics = RequestLane.allCases.map { "push.requests\($0.suffix)" } + ["push.outcomes"]
                let follower = try TopicFollower(brokers: pipeline.brokers, topics: topics)
                defer { follower.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 40)
                let python = try #require(ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"])
                let commands = [["bash", "publish.sh"], [python, "publish.py"]]
                let lanes: [RequestLane?] = [nil, .urgent, .bulk]
                for (command, lane) in commands.flatMap({ command in lanes.map { (command, $0) } }) {
                    let id = try publish(command, into: lane, to: tokens, brokers: pipeline.brokers)
                    var outcomes: [PushOutcome] = []
                    try kafka.wait(for: "the outcomes of \(command)") {
                        follower.poll()
                        outcomes = try follower.outcomes().map(\.outcome).filter { $0.requestID == id }
                        // Topics are followed side by side: an outcome may come before its request.
                        let requested = try requests(of: id, in: follower.messages).reduce(0) { $0 + $1.tokens.count }
                        return outcomes.count == tokens.count && requested == tokens.count
                    }
                    #expect(outcomes.allSatisfy { $0.kind == .confirmed }, "\(command)")
                    #expect(Set(outcomes.map { Array($0.token) }) == Set(tokens), "\(command)")
                    let topic = "push.requests\((lane ?? .normal).suffix)"
                    #expect(outcomes.allSatisfy { $0.sourceTopic == topic }, "\(command)")
                    let partitions = pipeline.options.partitions
                    try checkKeys(of: id, in: follower.messages, partitions: Int32(partitions))
                }
                #expect(try await pipeline.sandbox.stats().accepted == 6 * tokens.count)
                #expect(pipeline.stopWorkers() == [0])
            }
        }

        @Test("The key vectors hold for the example in Python, and for a murmur2 that is not ours")
        func vectors() throws {
            let python = try #require(ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"])
            let said = try run([python, "check_vectors.py"])
            #expect(said.hasSuffix(" vectors hold"))
        }

        /// Runs an example; returns the id of its request.
        ///
        /// - Parameter lane: nil: none is named.
        private func publish(
            _ command: [String],
            into lane: RequestLane?,
            to tokens: [[UInt8]],
            brokers: String
        ) throws -> String {
            // Every character that has to be escaped somewhere.
            let payload = #"{"aps":{"alert":"It's \"\#(command[1])\" \\ 100 % ✓"},"by":"\#(command[1])"}"#
            let digits = tokens.map { $0.map { String(format: "%02x", $0) }.joined() }
            var environment = ["BELFRY_KAFKA_BROKERS": brokers, "SPREAD": "\(Self.spread)"]
            environment["LANE"] = lane?.rawValue
            let id = try run(command, [news, payload] + digits, environment)
            #expect(UUID(uuidString: id) != nil, "\(command) printed \(id)")
            return id
        }

        /// Runs an interpreter with a file of Schemas/examples to its end; returns the last line that it printed.
        private func run(
            _ command: [String],
            _ arguments: [String] = [],
            _ environment: [String: String] = [:]
        ) throws -> String {
            let file = Repository.top.appending(path: "Schemas/examples/\(command[1])").path
            let child = try ChildProcess(
                "example",
                executable: "/usr/bin/env",
                arguments: [command[0], file] + arguments,
                environment: environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { own, _ in own },
                joinsErrors: true
            )
            let output = child.outputToEnd()
            let code = child.wait()
            guard code == 0 else {
                throw ChildProcess.Failure(description: "\(command) ended with \(code): \(output)")
            }
            // Clients say on standard error what they meet on the way.
            return output.split(separator: "\n").last.map(String.init) ?? ""
        }

        /// The records of a request, with their tokens.
        private func requests(
            of id: String,
            in messages: [TopicFollower.Message]
        ) throws -> [(message: TopicFollower.Message, tokens: [PushDeviceToken])] {
            try messages.filter { $0.topic != "push.outcomes" }.compactMap { message in
                let request: PushSendRequest = try message.value.withUnsafeBytes {
                    try RequestDecoding.decode(from: $0, as: .json)
                }
                return request.requestID == id ? (message, request.tokens) : nil
            }
        }

        /// Each token stands once, under the key of its shard, in the partition where murmur2 puts that.
        private func checkKeys(of id: String, in messages: [TopicFollower.Message], partitions: Int32) throws {
            var keys: Set<String> = []
            for (message, tokens) in try requests(of: id, in: messages) {
                #expect(message.headers["content-type"] == "application/json")
                let key = String(decoding: message.key, as: UTF8.self)
                #expect(keys.insert(key).inserted, "one record for each key")
                #expect(message.partition == KafkaPartitioner.murmur2Partition(key: key, count: partitions))
                for token in tokens {
                    let own = try token.bytes().withUnsafeBytes {
                        try RecordKey(bundleID: news, token: $0, spread: Self.spread).description
                    }
                    #expect(own == key)
                }
            }
            #expect(keys.count == Int(Self.spread), "forty tokens are of every shard: \(keys.sorted())")
        }
    }
}
