import LocalPipeline
import PushSchemas
import Testing
import TokenState

extension IntegrationTests {
    struct CoalescingTests {
        @Test("Of a backlog each device gets the newest request of its key, and everything else")
        func backlog() async throws {
            try await withPipeline { options in
                options.devices = 200
                options.partitions = 1
            } _: { pipeline, kafka in
                let tokens = try pipeline.tokens(of: news, first: 0, count: 200)
                var records = Records(tokens: tokens)
                let rounds = 6
                for round in 0..<rounds {
                    try kafka.publish(
                        try stride(from: 0, to: tokens.count, by: 10).map { first in
                            try records.record(to: Array(tokens[first..<first + 10])) {
                                $0.coalescingKey = "score"
                                // The last one is not valid any more for half of them.
                                if round == rounds - 1, first < 100 { $0.expiration = unixSeconds() - 10 }
                            }
                        }
                    )
                    try kafka.publish([try records.record(to: tokens)])
                    try kafka.publish([try records.record(to: [tokens[0]]) { $0.coalescingKey = "weather \(round)" }])
                }
                try pipeline.startWorker()
                try kafka.waitForOutcomes()
                #expect(kafka.books.count(.expired) == 100)
                #expect(kafka.books.count(.superseded) == 4 * 100 + 5 * 100)
                #expect(kafka.books.claimed == 200 + rounds * 200 + rounds)
                for (index, place) in kafka.places.enumerated() where place.notifications == 10 {
                    let (round, first) = (index / 22, index % 22 * 10)
                    let newest = first < 100 ? rounds - 2 : rounds - 1
                    let kind = kafka.books.outcomes[.init(partition: place.partition, offset: place.offset, token: 3)]
                    #expect(round == newest ? kind == .presumed : kind == (round < newest ? .superseded : .expired))
                }
                #expect(pipeline.stopWorkers() == [0])
                #expect(WorkerLog.sum(of: "superseded", in: pipeline.workers) == 900)
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.accepted == 200 + rounds * 200 + rounds && gateway.distinct == gateway.accepted)
            }
        }

        @Test("With a window a device gets the newest of its key at the end, also when the worker is another by then")
        func window() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
                options.worker =
                    "{shards: 1, connections-per-topic: 1, confirmation-window: 300ms, connections-per-minute: 6000, "
                    + "backoff-base: 100ms, coalescing-window: 10s}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 20))
                let tokens = records.tokens
                func publish(key: String = "score") throws {
                    try kafka.publish([try records.record(to: tokens) { $0.coalescingKey = key }])
                }
                try publish()
                try publish()
                // One without a key passes those that wait, and tells that they have been seen.
                try kafka.publish([try records.record(to: [tokens[0]])])
                try kafka.wait(for: "the one without a key") { kafka.books.claimed == 1 }
                #expect(worker.terminate() == 0)
                #expect(kafka.books.count(.superseded) == 20 && kafka.books.missing == 20)

                try publish()
                try publish(key: "weather")
                try pipeline.startWorker()
                try kafka.waitForOutcomes()
                #expect(kafka.books.count(.superseded) == 40)
                #expect(kafka.books.claimed == 41)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == 41 && stats.distinct == 41)

                // The next window.
                try publish()
                try kafka.waitForOutcomes()
                #expect(kafka.lastKind == .presumed)
                #expect(kafka.books.count(.superseded) == 40)
            }
        }

        @Test("A dead device's requests end as they would without a key; a key that is too long is a dead letter")
        func invalid() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startWorker()
                let strange = [UInt8](repeating: 0x5A, count: 32)
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                func deliver(to tokens: [[UInt8]], key: String) throws {
                    try kafka.deliver(try records.record(to: tokens) { $0.coalescingKey = key })
                }
                try deliver(to: records.spread([strange], among: records.tokens), key: "score")
                #expect(kafka.books.count(.rejected) == 1)
                try kafka.wait(for: "the tombstone") { try inspector.count().tombstoned == 1 }
                try deliver(to: [strange], key: "score")
                #expect(kafka.lastKind == .tombstoned)
                try deliver(to: [strange], key: String(repeating: "k", count: 256))
                #expect(kafka.lastKind == .deadLettered)
            }
        }
    }
}
