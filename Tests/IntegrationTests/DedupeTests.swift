import LocalPipeline
import PushSchemas
import Testing

extension IntegrationTests {
    struct DedupeTests {
        private static let remembering =
            "{shards: 1, connections-per-topic: 1, confirmation-window: 300ms, connections-per-minute: 6000, "
            + "backoff-base: 100ms, dedupe-window: 1h}"

        @Test("A request published again is not sent again to the tokens it arrived at; one without id is")
        func publishedAgain() async throws {
            try await withPipeline { options in
                options.worker = Self.remembering
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                let tokens = try pipeline.tokens(of: news, first: 0, count: 3)
                var records = Records(tokens: tokens)
                let first = try records.record(to: Array(tokens[..<2]))
                try kafka.deliver(first)
                #expect(kafka.lastKind == .presumed)
                try kafka.deliver(first)
                #expect(kafka.books.count(.duplicate) == 2)
                #expect(try await pipeline.sandbox.stats().accepted == 2)

                // The same request, but another token is among the old ones.
                try kafka.deliver(try records.record(to: tokens) { $0.requestID = "test-1" })
                #expect(kafka.books.count(.duplicate) == 4)
                #expect(try await pipeline.sandbox.stats().accepted == 3)

                let nameless = try records.record(to: tokens) { $0.requestID = "" }
                try kafka.deliver(nameless)
                try kafka.deliver(nameless)
                #expect(kafka.books.count(.duplicate) == 4)
                #expect(try await pipeline.sandbox.stats().accepted == 9)
            }
        }

        @Test("A request published again while it is on its way is not sent again, nor to a token it names twice")
        func underWay() async throws {
            try await withPipeline { options in
                options.worker = Self.remembering
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                let tokens = try pipeline.tokens(of: news, first: 0, count: 5)
                var records = Records(tokens: tokens)
                let record = try records.record(to: tokens + [tokens[0]])
                try kafka.deliver(record, record, record)
                #expect(kafka.books.claimed == 5)
                #expect(kafka.books.count(.duplicate) == 13)
                #expect(try await pipeline.sandbox.stats().accepted == 5)
            }
        }

        @Test("A request that failed may be published again")
        func failed() async throws {
            try await withPipeline { options in
                options.worker = Self.remembering
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                let record = try records.record(to: records.tokens)
                try await pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.news","status":4,"every":1}"#
                )
                try kafka.deliver(record)
                #expect(kafka.lastKind == .deadLettered)
                try await pipeline.sandbox.setFault(#"{"clear":true}"#)
                try kafka.deliver(record)
                #expect(kafka.lastKind == .presumed)
            }
        }

        @Test("A notification that had arrived, but was not committed when its worker died, is not sent again")
        func consumedAgain() async throws {
            try await withPipeline { options in
                options.devices = 3000
                options.worker = Self.remembering
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let tokens = try pipeline.tokens(of: news, first: 0, count: 3000)
                let topic = RequestPlan.Topic(bundleID: news, living: tokens, uninstalled: [])
                var plan = RequestPlan(seed: 4, firstNumber: 0, now: unixSeconds())
                try kafka.publish(plan.good(3000, of: topic, from: tokens))
                try kafka.waitForOutcomes()
                worker.kill()
                // A group without commits: as if the dead worker had not come to any.
                try pipeline.startWorker(environment: [
                    "BELFRY_WORKER_GROUP_ID": "without-commits", "BELFRY_WORKER_START": "beginning",
                ])
                try kafka.wait(for: "outcomes of all that is consumed again") { kafka.books.repeated >= 3000 }
                #expect(pipeline.stopWorkers() == [128 + 9, 0])
                #expect(WorkerLog.sum(of: "duplicate", in: pipeline.workers) == 3000)
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.accepted == 3000 && gateway.distinct == 3000)
            }
        }

        @Test("A notification is not done before Redis remembers it, and done when Redis is back and does")
        func redisCut() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.redisSettings = RedisAwayTests.impatient
                options.worker =
                    "{shards: 1, connections-per-topic: 1, confirmation-window: 3s, connections-per-minute: 6000, "
                    + "dedupe-window: 1h}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                let record = try records.record(to: records.tokens)
                try kafka.publish([record])
                try await kafka.wait(for: "the notification", at: pipeline.sandbox) { $0.accepted == 1 }
                pipeline.stopRedis()
                try worker.waitForLogLine(with: "request ids could not be remembered", within: patience)
                kafka.pump()
                #expect(kafka.books.missing == 1, "settled, and neither told of")
                let state = try CommittedState(brokers: pipeline.brokers, partitions: 1)
                #expect(state.uncovered(of: kafka.places, in: [0]) == 1, "nor committed")

                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .presumed)
                try kafka.deliver(record)
                #expect(kafka.lastKind == .duplicate)
                #expect(try await pipeline.sandbox.stats().accepted == 1)
            }
        }
    }
}
