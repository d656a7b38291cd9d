import Foundation
import LocalPipeline
import PushSchemas
import Testing

extension IntegrationTests {
    /// An operator's levers, from the command to the gateway.
    struct LeverTests {
        private static let sport = "com.example.sport"

        @Test(
            "A paused topic sends nothing, across a kill, while another goes on; what is discarded ends as aborted",
            arguments: [.binary, .http2] as [PipelineTransport]
        )
        func levers(transport: PipelineTransport) async throws {
            try await withPipeline { options in
                options.topics = [news, Self.sport]
                options.partitions = 2
                options.transport = transport
                options.worker = "{shards: 2, confirmation-window: 300ms, connections-per-minute: 6000}"
            } _: { pipeline, kafka in
                let topics = try pipeline.options.topics.map { name in
                    let tokens = try pipeline.tokens(of: name, first: 0, count: 200)
                    return RequestPlan.Topic(bundleID: name, living: tokens, uninstalled: [])
                }
                var plan = RequestPlan(seed: 12, firstNumber: 0, now: unixSeconds())
                func publish(news: Int, sport: Int) throws {
                    try kafka.publish(
                        plan.good(sport, of: topics[1], from: topics[1].living)
                            + plan.good(news, of: topics[0], from: topics[0].living)
                    )
                }
                func pull(_ lever: String, _ options: String...) throws {
                    let command = ["apps", lever, Self.sport, "--config", pipeline.configurationFile] + options
                    try pipeline.run(command)
                }
                let first = try pipeline.startWorker()
                try publish(news: 100, sport: 100)
                try kafka.waitForOutcomes()
                try pull("pause", "--reason", "test")
                // Each shard says so.
                try first.waitForLogLine(with: "topic is paused", within: patience)
                try publish(news: 100, sport: 300)
                try kafka.wait(for: "the outcomes of the other topic") { kafka.books.missing <= 300 }
                #expect(try await pipeline.sandbox.stats().distinct == 300)
                first.signal(SIGKILL)
                _ = try first.wait(within: patience)

                let second = try pipeline.startWorker()
                try publish(news: 50, sport: 0)
                try kafka.wait(for: "the outcomes of the other topic") { kafka.books.missing <= 300 }
                #expect(try await pipeline.sandbox.stats().distinct == 350, "a start sends nothing of a paused topic")
                try pull("discard", "--before", "now")
                try kafka.wait(for: "the end of what waited") { kafka.books.missing == 0 }
                #expect(kafka.books.count(.aborted) == 300)
                try publish(news: 10, sport: 70)
                try kafka.wait(for: "the outcomes of the other topic") { kafka.books.missing <= 70 }
                try pull("resume")
                try kafka.waitForOutcomes()
                #expect(kafka.books.count(.aborted) == 300 && kafka.books.missing == 0)
                second.signal(SIGTERM)
                #expect(try second.wait(within: patience) == 0)
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.distinct == 430 && gateway.distinct == kafka.books.claimed)
            }
        }
    }
}
