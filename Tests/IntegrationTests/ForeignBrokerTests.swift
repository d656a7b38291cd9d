import KafkaClient
import KafkaTestSupport
import LocalPipeline
import Testing

extension IntegrationTests {
    /// Once more against a Kafka-compatible broker that is not librdkafka's own, in another process.
    struct ForeignBrokerTests {
        @Test("A round trip through a broker in another process balances the books")
        func roundTrip() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline { options in
                options.kafka = broker.bootstrapServers
            } _: { pipeline, kafka in
                try pipeline.startWorker()
                var plan = RequestPlan(seed: 5, firstNumber: 0, now: unixSeconds())
                let tokens = try pipeline.tokens(of: news, first: 0, count: 1000)
                let topic = RequestPlan.Topic(bundleID: news, living: tokens, uninstalled: [])
                var records = plan.good(3000, of: topic, from: tokens)
                records += plan.invalidTokens(10, of: topic) + plan.bad(of: topic)
                plan.shuffle(&records)
                try kafka.publish(records)
                try kafka.waitForOutcomes()
                #expect(pipeline.stopWorkers() == [0])
                let gateway = try await pipeline.sandbox.stats()
                #expect(kafka.books.missing == 0)
                #expect(kafka.books.count(.rejected) == 10)
                #expect(gateway.rejected == ["8": 10])
                #expect(gateway.distinct == kafka.books.claimed)
                #expect(gateway.accepted == gateway.distinct)
            }
        }

        @Test("Kill -9 of a worker loses nothing on a broker in another process, and repeats only what was not covered")
        func kill() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            // This broker never ends the session of a member that is silent; it forgets its members when it starts
            // again.
            try await WorkerFailure.kill(kafka: broker.bootstrapServers) {
                try broker.restart()
            }
        }

        @Test("SIGTERM of a worker loses and repeats nothing on a broker in another process")
        func stop() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await WorkerFailure.stop(kafka: broker.bootstrapServers)
        }
    }
}

extension ForeignBroker {
    /// Ends it and starts it again once its port is free: its own children take a while to end.
    func restart() throws {
        stop()
        try waitUntilGone()
        try start()
    }

    /// After it was stopped.
    func waitUntilGone() throws {
        let deadline = ContinuousClock.now + patience
        while isReachable {
            guard ContinuousClock.now < deadline else { throw Failure(description: "the broker did not end") }
        }
    }

    private var isReachable: Bool {
        guard let admin = try? KafkaAdmin(properties: ["bootstrap.servers": bootstrapServers]) else { return false }
        defer { admin.close() }
        return (try? admin.checkReachable(timeoutMilliseconds: 500)) != nil
    }
}
