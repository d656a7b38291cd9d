import Foundation
import LocalPipeline
import Testing

extension IntegrationTests {
    struct StopAndGapTests {
        @Test("A second signal ends a worker at once, whatever is in flight")
        func secondSignal() async throws {
            try await withPipeline { options in
                options.worker = "{shards: 1, connections-per-topic: 1, confirmation-window: 5m, stop-timeout: 10m}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.publish([try records.record(to: records.tokens)])
                try await kafka.wait(for: "the notification", at: pipeline.sandbox) { $0.accepted == 1 }
                worker.signal(SIGTERM)
                try worker.waitForLogLine(with: "draining", within: patience)
                #expect(worker.isRunning)
                worker.signal(SIGTERM)
                #expect(try worker.wait(within: patience) == 1)
                #expect(worker.log.contains("a second signal"))
            }
        }

        @Test("Where retention has overtaken the lag, the worker says what is lost, counts it, and goes on behind it")
        func overtaken() async throws {
            try await withPipeline { options in
                options.partitions = 1
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try pipeline.startWorker()
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(pipeline.stopWorkers() == [0])
                // The embedded broker keeps 5 MiB of a partition and drops the oldest: offset 1, which is the next.
                for _ in 0..<8 {
                    try kafka.publish(
                        topic: "push.requests",
                        key: news,
                        value: [UInt8](repeating: 0xFF, count: 900_000)
                    )
                }
                let worker = try pipeline.startWorker()
                let line = try worker.waitForLogLine(with: "retention has overtaken the lag", within: patience)
                #expect(line.contains("\"offset\":\"1\"") && !line.contains("\"lost\":\"0\""))
                // Requests that were not overtaken have outcomes, too, which the books do not expect.
                try kafka.publish([try records.record(to: records.tokens)])
                try kafka.wait(for: "the outcome of the last record") { kafka.lastKind != nil }
                #expect(kafka.lastKind == .presumed)
            }
        }
    }
}
