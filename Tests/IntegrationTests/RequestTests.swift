import KafkaClient
import LocalPipeline
import PushSchemas
import Testing

extension IntegrationTests {
    struct RequestTests {
        private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

        @Test("An expired request is not sent; JSON is read by its header; traceparent passes on to the outcome")
        func outcomes() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startWorker()
                let follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.outcomes"])
                defer { follower.close() }
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 3))
                let tokens = records.tokens
                try kafka.deliver(
                    try records.record(to: tokens) { $0.expiration = unixSeconds() - 3600 },
                    try records.record(to: tokens) { $0.expiration = unixSeconds() + 3600 },
                    try records.record(
                        to: [tokens[0]],
                        asJSON: true,
                        headers: [("traceparent", Array(Self.trace.utf8)), ("tracestate", Array("a=b".utf8))]
                    )
                )
                try kafka.wait(for: "outcomes") {
                    follower.poll()
                    return follower.messages.count >= 7
                }
                let outcomes = try follower.outcomes()
                func of(_ id: String) -> [(outcome: PushOutcome, headers: [String: String])] {
                    outcomes.filter { $0.outcome.requestID == id }
                }
                #expect(of("test-1").map(\.outcome.kind) == [.expired, .expired, .expired])
                #expect(of("test-2").map(\.outcome.kind) == [.presumed, .presumed, .presumed])
                #expect(of("test-2").allSatisfy { $0.headers.isEmpty })
                let traced = try #require(of("test-3").first)
                #expect(traced.outcome.kind == .presumed)
                #expect(traced.outcome.bundleID == news)
                #expect(traced.outcome.environment == "sandbox")
                #expect(Array(traced.outcome.token) == tokens[0])
                #expect(traced.headers == ["traceparent": Self.trace, "tracestate": "a=b"])
                #expect(try await pipeline.sandbox.stats().accepted == 4)
            }
        }

        @Test("The setting outcomes: failures publishes nothing about accepted notifications, and everything else")
        func onlyFailures() async throws {
            try await withPipeline { options in
                options.outcomes = "failures"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 20))
                let invalid = [UInt8](repeating: 0x5A, count: 32)
                try kafka.publish([
                    try records.record(to: records.tokens),
                    try records.record(to: [invalid]),
                    try records.record(to: [[1, 2, 3]]),
                    try records.record(to: [records.tokens[0]]) { $0.expiration = 1 },
                    try records.record(to: records.tokens),
                ])
                try await kafka.wait(for: "what is good", at: pipeline.sandbox) { $0.accepted == 40 }
                try kafka.wait(for: "failures") { kafka.books.outcomes.count >= 3 }
                // A worker that has stopped has settled everything and had every outcome acknowledged.
                #expect(worker.terminate() == 0)
                #expect(try Self.messages(in: "push.outcomes", of: pipeline) == 3)
                try kafka.wait(for: "all commits") {
                    let state = try CommittedState(brokers: pipeline.brokers, partitions: pipeline.options.partitions)
                    return state.uncovered(of: kafka.places, in: [0, 1]) == 0
                }
                #expect(kafka.books.count(.rejected) == 1)
                #expect(kafka.books.count(.deadLettered) == 1)
                #expect(kafka.books.count(.expired) == 1)
            }
        }

        private static func messages(in topic: String, of pipeline: LocalPipeline) throws -> Int64 {
            let admin = try KafkaAdmin(properties: ["bootstrap.servers": pipeline.brokers])
            defer { admin.close() }
            return try (0..<Int32(pipeline.options.partitions)).reduce(0) { sum, partition in
                let place = KafkaTopicPartition(topic: topic, partition: partition)
                let marks = try admin.watermarks(of: place, timeoutMilliseconds: 30_000)
                return sum + marks.high - marks.low
            }
        }
    }
}
