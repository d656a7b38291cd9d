import Foundation
import LocalPipeline
import PushSchemas
import Testing

@testable import TokenState

extension IntegrationTests {
    struct TokenLifeTests {
        @Test("A token that a trusted gateway calls invalid is silent from its tombstone on, until it registers again")
        func invalidToken() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startWorker()
                try pipeline.startRegistrar()
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                let mixed = records.spread([strange], among: records.tokens)

                try kafka.deliver(try records.record(to: mixed))
                #expect(kafka.books.count(.rejected) == 1)
                try kafka.wait(for: "the tombstone") {
                    try inspector.count() == .init(registered: 0, tombstoned: 1)
                }
                try kafka.deliver(try records.record(to: [strange]))
                #expect(kafka.lastKind == .tombstoned)
                #expect(try await pipeline.sandbox.stats().rejected == ["8": 1], "it was sent once")

                try kafka.register([strange], bundleID: news, at: unixSeconds() + 1)
                try kafka.wait(for: "the registration") { try inspector.count().tombstoned == 0 }
                try kafka.deliver(try records.record(to: mixed))
                #expect(kafka.books.count(.rejected) == 2)
                #expect(try await pipeline.sandbox.stats().rejected == ["8": 2], "it was sent again")
            }
        }

        @Test("A gateway that accepts nothing is not believed: a token that it calls invalid gets no tombstone")
        func nothingAccepted() async throws {
            try await withPipeline { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: [strange])
                for count in 1...3 {
                    try kafka.deliver(try records.record(to: [strange]))
                    #expect(kafka.books.count(.rejected) == count)
                }
                #expect(worker.terminate() == 0)
                #expect(try inspector.count().tombstoned == 0)
            }
        }

        @Test("Requests that wait for a token when it is taken for invalid are silent too, and the others are sent")
        func waitingForInvalidToken() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startWorker()
                let strange = [UInt8](repeating: 0x5A, count: 32)
                let good = try pipeline.tokens(of: news, first: 0, count: 400)
                var records = Records(tokens: good)
                try kafka.publish(try (good + good).map { try records.record(to: [$0, strange]) })
                try kafka.waitForOutcomes()
                let rejected = kafka.books.count(.rejected)
                // Each takes a connection of its own; it is believed with the second, at the next look at the clock.
                #expect(1...100 ~= rejected)
                #expect(kafka.books.count(.tombstoned) == 800 - rejected)
                #expect(kafka.books.claimed == 800)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.rejected == ["8": rejected], "sent no oftener than told of")
                #expect(stats.accepted == 800)
            }
        }

        @Test("A device without the app is silent from its feedback on, until the app registers again")
        func feedback() async throws {
            try await withPipeline { pipeline, kafka in
                // Redis' state counts at once; a filter may be behind by its age.
                try pipeline.startWorker(environment: ["BELFRY_WORKER_TOMBSTONE_FILTER": "false"])
                try pipeline.startRegistrar()
                try pipeline.startHarvester()
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.register(records.tokens, bundleID: news, at: unixSeconds() - 3600)
                try kafka.wait(for: "registrations") { try inspector.count().registered == 2 }
                try await pipeline.sandbox.setDevices(topic: news, first: 0, count: 1, state: "uninstalled")

                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.lastKind == .presumed, "the gateway says nothing about it")
                try kafka.wait(for: "the tombstone") { try inspector.count().tombstoned == 1 }
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.lastKind == .tombstoned)
                #expect(kafka.books.count(.tombstoned) == 1, "the other device lives")
                #expect(try await pipeline.sandbox.stats().accepted == 3)

                try await pipeline.sandbox.setDevices(topic: news, first: 0, count: 1, state: "reinstalled")
                try kafka.register([records.tokens[0]], bundleID: news, at: unixSeconds() + 1)
                try kafka.wait(for: "the registration") { try inspector.count().tombstoned == 0 }
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.lastKind == .presumed)
                #expect(try await pipeline.sandbox.stats().accepted == 5)
            }
        }

        @Test("Feedback of the second in which the token registered leaves it alive, whichever comes first")
        func sameSecond() async throws {
            try await withPipeline { pipeline, kafka in
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 3)
                let second = unixSeconds() - 600
                try pipeline.startRegistrar()
                try pipeline.startHarvester()
                // Tokens 0 and 2 register first, token 1 after its feedback. All tuples go through one partition, in
                // order: the tombstone of token 2 says that the tuple of token 0 was judged.
                try kafka.register([tokens[0], tokens[2]], bundleID: news, at: second)
                try kafka.wait(for: "registrations") { try inspector.count().registered == 2 }
                try kafka.publishFeedback(tokens[1], bundleID: news, at: second)
                try kafka.publishFeedback(tokens[0], bundleID: news, at: second)
                try kafka.publishFeedback(tokens[2], bundleID: news, at: second + 1)
                try kafka.wait(for: "tombstones") { try inspector.count().tombstoned == 2 }
                try kafka.register([tokens[1]], bundleID: news, at: second)
                try kafka.wait(for: "the registration") { try inspector.count().registered == 3 }
                #expect(try inspector.count() == .init(registered: 3, tombstoned: 1))

                try pipeline.startWorker()
                var records = Records(tokens: tokens)
                try kafka.deliver(try records.record(to: tokens))
                #expect(kafka.books.claimed == 2)
                #expect(kafka.books.count(.tombstoned) == 1)
            }
        }
    }
}
