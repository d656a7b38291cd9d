import Foundation
import LocalPipeline
import PushSchemas
import Testing
import TokenState

extension IntegrationTests {
    struct RedisAwayTests {
        /// Redis is asked for every token.
        private static let asksAlways = ["BELFRY_WORKER_TOMBSTONE_FILTER": "false"]

        /// Makes a worker that asks Redis in vain say so soon.
        static let impatient = ", command-timeout: 1s"

        @Test("While Redis is away nothing is sent that it is to be asked for, and nothing is lost")
        func waits() async throws {
            try await withPipeline { options in
                options.redisSettings = Self.impatient
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker(environment: Self.asksAlways)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.deliver(try records.record(to: records.tokens))
                pipeline.stopRedis()
                try kafka.publish([try records.record(to: records.tokens)])
                try worker.waitForLogLine(with: "token state could not be read", within: patience)
                #expect(try await pipeline.sandbox.stats().accepted == 1)
                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .presumed)
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == 0)
            }
        }

        @Test("With its filter a worker sends to living tokens while Redis is away; for a dead one it is asked")
        func filters() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.redisSettings = Self.impatient
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                try worker.waitForLogLine(with: "the filter of dead tokens is complete", within: patience)
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.deliver(try records.record(to: records.spread([strange], among: records.tokens)))
                #expect(kafka.books.count(.rejected) == 1)
                try waitForTombstone(pipeline, kafka)

                pipeline.stopRedis()
                for _ in 0..<3 { try kafka.deliver(try records.record(to: records.tokens)) }
                #expect(kafka.books.claimed == 8)
                try kafka.publish([try records.record(to: [strange])])
                try worker.waitForLogLine(with: "token state could not be read", within: patience)
                #expect(kafka.books.missing == 1)

                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .tombstoned)
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == 0)
            }
        }

        @Test("Set to send, a worker goes on while Redis is away, and says so in each outcome until Redis is back")
        func sends() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.redisSettings = Self.impatient
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker(
                    environment: Self.asksAlways.merging(
                        ["BELFRY_REDIS_WHEN_AWAY": "send", "BELFRY_REDIS_AWAY_AFTER": "200ms"]
                    ) { $1 }
                )
                let follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.outcomes"])
                defer { follower.close() }
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                let mixed = records.spread([strange], among: records.tokens)
                try kafka.deliver(try records.record(to: mixed))
                try waitForTombstone(pipeline, kafka)
                try kafka.deliver(try records.record(to: mixed))
                #expect(kafka.books.count(.rejected) == 1 && kafka.books.count(.tombstoned) == 1)

                pipeline.stopRedis()
                for _ in 0..<3 { try kafka.deliver(try records.record(to: [records.tokens[0]])) }
                #expect(kafka.books.claimed == 7)
                try worker.waitForLogLine(with: "Redis is away", within: patience)
                // The worker does not know that this token is dead. Its outcome does not wait for its tombstone.
                try kafka.deliver(try records.record(to: mixed))
                #expect(kafka.books.count(.rejected) == 2)
                try worker.waitForLogLine(with: "tombstone could not be written", within: patience)

                try pipeline.startRedis()
                try worker.waitForLogLine(with: "Redis is back", within: patience)
                try kafka.deliver(try records.record(to: mixed))
                #expect(pipeline.stopWorkers() == [0])

                try kafka.wait(for: "the outcomes, read once more") {
                    follower.poll()
                    return follower.messages.count >= kafka.books.published
                }
                let outcomes = try follower.messages.map { try PushOutcome(serializedBytes: $0.value) }
                    .sorted { ($0.sourceOffset, $0.tokenIndex) < ($1.sourceOffset, $1.tokenIndex) }
                #expect(outcomes[..<6].allSatisfy { !$0.withoutTokenState })
                #expect(outcomes[6..<12].allSatisfy { $0.withoutTokenState })
                #expect(outcomes.suffix(3).map(\.kind) == [.presumed, .tombstoned, .presumed], "it is looked up again")
                #expect(outcomes.suffix(3).allSatisfy { !$0.withoutTokenState })
                let blind = outcomes.count { $0.withoutTokenState }
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == blind)
            }
        }

        private func waitForTombstone(_ pipeline: LocalPipeline, _ kafka: PipelineClient) throws {
            let inspector = try TokenInspector(redisURL: pipeline.redisURL)
            defer { inspector.close() }
            try kafka.wait(for: "the tombstone") { try inspector.count().tombstoned == 1 }
        }

        @Test("Set to send, a worker starts and sends without a Redis that never was there, and is ready")
        func startsWithout() async throws {
            try await withPipeline { options in
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                pipeline.stopRedis()
                let worker = try pipeline.startWorker(environment: ["BELFRY_REDIS_WHEN_AWAY": "send"])
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.lastKind == .presumed)
                #expect(try await OperationsClient(of: worker, kafka).readiness().status == 200)
            }
        }
    }
}
