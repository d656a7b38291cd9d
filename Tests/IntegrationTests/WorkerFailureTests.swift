import Glibc
import LocalPipeline
import Testing

extension IntegrationTests {
    struct WorkerFailureTests {
        @Test("Kill -9 of a worker in mid-run loses nothing and repeats only what the committed state did not cover")
        func kill() async throws {
            try await WorkerFailure.kill(kafka: nil)
        }

        @Test("SIGTERM of a worker in mid-run loses nothing and repeats nothing; a new worker joins and goes on")
        func stop() async throws {
            try await WorkerFailure.stop(kafka: nil)
        }

        @Test("Notifications done behind one that is not done are not sent again after kill -9")
        func doneRanges() async throws {
            try await withPipeline { options in
                options.topics = ["com.example.news", "com.example.sport"]
                options.partitions = 1
                // The refused notification waits long for its second attempt, while the others get done.
                options.worker =
                    "{shards: 1, connections-per-topic: 1, confirmation-window: 300ms, connections-per-minute: 6000, "
                    + "backoff-base: 60s, backoff-cap: 60s}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let others = try pipeline.tokens(of: "com.example.sport", first: 0, count: 500)
                try await pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.news","status":1,"every":1}"#
                )
                var plan = RequestPlan(seed: 3, firstNumber: 0, now: unixSeconds())
                let stuck = RequestPlan.Topic(
                    bundleID: news,
                    living: try pipeline.tokens(of: news, first: 0, count: 1),
                    uninstalled: []
                )
                let free = RequestPlan.Topic(bundleID: "com.example.sport", living: others, uninstalled: [])
                let first = plan.good(1, of: stuck, from: stuck.living)
                try kafka.publish(first + plan.good(2000, of: free, from: others))
                var state = try CommittedState(brokers: pipeline.brokers, partitions: 1)
                try kafka.wait(for: "a commit with done ranges") {
                    state = try CommittedState(brokers: pipeline.brokers, partitions: 1)
                    return state.uncovered(of: kafka.places, in: [0]) == 1
                }
                #expect(state.doneBeyondCursors(of: kafka.places) == 2000)
                #expect(state.laggards(in: 0).count == 1, "the one that waits is named")
                worker.kill()

                try await pipeline.sandbox.setFault(#"{"clear":true}"#)
                try pipeline.startWorker()
                try kafka.waitForOutcomes()
                #expect(pipeline.stopWorkers() == [128 + SIGKILL, 0])
                let gateway = try await pipeline.sandbox.stats()
                #expect(gateway.accepted == 2001, "none of those that were done is sent again")
                #expect(gateway.distinct == kafka.books.claimed)
                #expect(kafka.books.claimed == 2001)
            }
        }
    }
}
