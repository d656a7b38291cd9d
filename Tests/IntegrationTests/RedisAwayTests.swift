import Foundation
import PushSchemas
import Testing

@testable import BelfryRuntime
@testable import Demo

extension IntegrationTests {
    struct RedisAwayTests {
        /// Redis is asked for every token.
        private static let asksAlways = ["BELFRY_WORKER_TOMBSTONE_FILTER": "false"]

        @Test("while Redis is away nothing is sent that it is to be asked for, and nothing is lost")
        func waits() async throws {
            try await withPipeline { pipeline, kafka in
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

        @Test("with its filter a worker sends to living tokens while Redis is away; for a dead one it is asked")
        func filters() async throws {
            try await withPipeline { options in
                options.partitions = 1
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                try worker.waitForLogLine(with: "the filter of dead tokens is complete", within: patience)
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.deliver(try records.record(to: [strange] + records.tokens))
                #expect(kafka.books.count(.rejected) == 1)

                pipeline.stopRedis()
                for _ in 0..<3 { try kafka.deliver(try records.record(to: records.tokens)) }
                #expect(kafka.books.claimed == 4)
                try kafka.publish([try records.record(to: [strange])])
                try worker.waitForLogLine(with: "token state could not be read", within: patience)
                #expect(kafka.books.missing == 1)

                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .tombstoned)
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == 0)
            }
        }

        @Test("set to send, a worker goes on while Redis is away, and says so in each outcome until Redis is back")
        func sends() async throws {
            try await withPipeline { options in
                options.partitions = 1
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker(
                    environment: Self.asksAlways.merging(
                        ["BELFRY_REDIS_WHEN_AWAY": "send", "BELFRY_REDIS_AWAY_AFTER": "200ms"]
                    ) { $1 }
                )
                let follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.outcomes"])
                defer { follower.close() }
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.deliver(try records.record(to: [strange]))
                try kafka.deliver(try records.record(to: [strange] + records.tokens))
                #expect(kafka.books.count(.rejected) == 1 && kafka.books.count(.tombstoned) == 1)

                pipeline.stopRedis()
                for _ in 0..<3 { try kafka.deliver(try records.record(to: records.tokens)) }
                #expect(kafka.books.claimed == 4)
                try worker.waitForLogLine(with: "Redis is away", within: patience)
                // Nobody knows that this token is dead. That it is dead must be written before its outcome.
                try kafka.publish([try records.record(to: [strange])])
                try worker.waitForLogLine(with: "tombstone could not be written", within: patience)
                #expect(kafka.books.missing == 1)

                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .rejected)
                try worker.waitForLogLine(with: "Redis is back", within: patience)
                try kafka.deliver(try records.record(to: [strange] + records.tokens))
                #expect(pipeline.stopWorkers() == [0])

                try kafka.wait(for: "the outcomes, read once more") {
                    follower.poll()
                    return follower.messages.count >= kafka.books.published
                }
                let outcomes = try follower.messages.map { try PushOutcome(serializedBytes: $0.value) }
                    .sorted { ($0.sourceOffset, $0.tokenIndex) < ($1.sourceOffset, $1.tokenIndex) }
                #expect(outcomes.prefix(7).map(\.withoutTokenState) == [false, false, false, true, true, true, true])
                #expect(outcomes.suffix(2).map(\.kind) == [.tombstoned, .presumed], "it is looked up again")
                #expect(outcomes.suffix(2).allSatisfy { !$0.withoutTokenState })
                let blind = outcomes.count { $0.withoutTokenState }
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == blind)
            }
        }

        @Test("set to send, a worker starts and sends without a Redis that never was there, and is ready")
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
