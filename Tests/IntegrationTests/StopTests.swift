import LocalPipeline
import Testing

extension IntegrationTests {
    struct StopTests {
        @Test("A stop proves what is in flight with a sentinel instead of waiting for silence")
        func sentinel() async throws {
            try await withPipeline { options in
                options.worker = "{shards: 1, connections-per-topic: 2, confirmation-window: 4m, stop-timeout: 5m}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 20))
                try kafka.publish([try records.record(to: records.tokens)])
                try await kafka.wait(for: "the gateway", at: pipeline.sandbox) { $0.accepted == 20 }
                #expect(worker.terminate() == 0)
                try kafka.waitForOutcomes()
                #expect(kafka.books.count(.confirmed) == 20, "proven, long before the window ends")
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.accepted == 20 && stats.rejected == ["2": 2], "one sentinel per connection")
            }
        }
    }
}
