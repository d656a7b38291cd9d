import Foundation
import LocalPipeline
import Sandbox
import Testing
import TokenState

extension IntegrationTests {
    /// A topic that does not work, beside one that does.
    struct LaggingTests {
        @Test(
            "A topic that does not work lags at its own cursor, across workers, and returns in order; another goes on",
            arguments: [SIGTERM, SIGKILL]
        )
        func restart(signal: Int32) async throws {
            try await Lagging.with { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.sport","status":3,"every":1}"#
                )
                let first = try run.pipeline.startWorker()
                try run.publish(sport: 300, news: 600)
                try run.waitUntilOnlySportIsMissing()
                try run.publish(sport: 200, news: 200)
                try run.waitUntilOnlySportIsMissing()
                try run.waitUntilOnlySportLags(500)
                first.signal(signal)
                #expect(try first.wait(within: patience) == (signal == SIGTERM ? 0 : 128 + SIGKILL))

                let second = try run.pipeline.startWorker()
                try run.publish(sport: 100, news: 100)
                try run.waitUntilOnlySportIsMissing()
                #expect(first.log.contains("it lags and is probed"))
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try await run.finish()
                #expect(second.log.contains("topic works again"))
            }
        }

        @Test("A topic whose certificate is refused lags and returns later; another keeps its connection")
        func certificateRefused() async throws {
            try await Lagging.with { run in
                let worker = try run.pipeline.startWorker()
                try run.publish(sport: 0, news: 100)
                try run.kafka.waitForOutcomes()
                try await run.pipeline.sandbox.setFault(#"{"name":"refuse-certificates"}"#)
                try run.publish(sport: 300, news: 300)
                try run.waitUntilOnlySportIsMissing()
                try run.waitUntilOnlySportLags(300)
                try worker.waitForLogLine(with: "it lags and is probed", "certificate-refused", within: patience)
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try await run.finish()
                #expect(worker.log.contains("topic works again"))
            }
        }

        @Test("A gateway that calls all tokens invalid loses its word: no tombstone, and what is left returns later")
        func doubtedTokens() async throws {
            try await Lagging.with { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.sport","status":8,"every":1}"#
                )
                let worker = try run.pipeline.startWorker()
                try run.publish(sport: 400, news: 100)
                try worker.waitForLogLine(with: "it lags and is probed", "tokens-doubted", within: patience)
                try run.kafka.wait(for: "a commit that names the topic") {
                    try CommittedState(brokers: run.pipeline.brokers, partitions: 1).laggards(in: 0).count == 1
                }
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try run.kafka.waitForOutcomes()
                // The sample, and some probes.
                #expect(run.kafka.books.count(.rejected) < 100)
                #expect(run.pipeline.stopWorkers() == [0])
                let gateway = try await run.pipeline.sandbox.stats()
                #expect(gateway.distinct == run.kafka.books.claimed)
                #expect(run.kafka.books.claimed + run.kafka.books.count(.rejected) == 500)
                let inspector = try TokenInspector(redisURL: run.pipeline.redisURL)
                defer { inspector.close() }
                #expect(try inspector.count().tombstoned == 0)
            }
        }
    }
}

/// A pipeline with two topics in one partition, whose broken topic is probed often.
private struct Lagging {
    let pipeline: LocalPipeline
    let kafka: PipelineClient
    private let acceptedLog: String
    private let topics: [RequestPlan.Topic]

    static func with(_ body: (inout Lagging) async throws -> Void) async throws {
        let log = NSTemporaryDirectory() + "belfry-lagging-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: log) }
        try await withPipeline { options in
            options.topics = [news, "com.example.sport"]
            options.partitions = 1
            options.sandboxArguments = ["--accepted-log", log]
            options.worker =
                "{shards: 1, connections-per-topic: 2, confirmation-window: 300ms, connections-per-minute: 6000, "
                + "backoff-base: 100ms, sentinel-timeout: 500ms, park-probe-base: 300ms, park-probe-cap: 1s, "
                + "invalid-token-sample: 10}"
        } _: { pipeline, kafka in
            var run = Lagging(
                pipeline: pipeline,
                kafka: kafka,
                acceptedLog: log,
                topics: try pipeline.options.topics.map { name in
                    let tokens = try pipeline.tokens(of: name, first: 0, count: 200)
                    return RequestPlan.Topic(bundleID: name, living: tokens, uninstalled: [])
                }
            )
            try await body(&run)
        }
    }

    private var plan = RequestPlan(seed: 11, firstNumber: 0, now: unixSeconds())
    private var ofSport = 0

    private init(
        pipeline: LocalPipeline,
        kafka: PipelineClient,
        acceptedLog: String,
        topics: [RequestPlan.Topic]
    ) {
        self.pipeline = pipeline
        self.kafka = kafka
        self.acceptedLog = acceptedLog
        self.topics = topics
    }

    mutating func publish(sport: Int, news: Int) throws {
        let ofNews = plan.good(news, of: topics[0], from: topics[0].living)
        let ofSport = plan.good(sport, of: topics[1], from: topics[1].living)
        // One after the other, so that the working topic's notifications stand behind the broken one's.
        try kafka.publish(ofSport + ofNews)
        self.ofSport += sport
    }

    func waitUntilOnlySportIsMissing() throws {
        try kafka.wait(for: "the outcomes of the topic that works") { kafka.books.missing <= ofSport }
        #expect(kafka.books.missing == ofSport)
    }

    /// Waits until a commit covers everything but so many notifications of the topic that does not work.
    func waitUntilOnlySportLags(_ notifications: Int) throws {
        var state = try CommittedState(brokers: pipeline.brokers, partitions: 1)
        try kafka.wait(for: "a commit of everything else") {
            state = try CommittedState(brokers: pipeline.brokers, partitions: 1)
            return state.uncovered(of: kafka.places, in: [0]) == notifications
        }
        let hashes = state.hashes(of: "com.example.sport", in: 0)
        #expect(state.laggards(in: 0).count == 1 && hashes.contains(state.laggards(in: 0)[0]))
    }

    /// Waits for all outcomes; then the books balance, nothing was sent twice, and every device got its notifications
    /// in order.
    func finish() async throws {
        try kafka.waitForOutcomes()
        _ = pipeline.stopWorkers()
        let gateway = try await pipeline.sandbox.stats()
        #expect(kafka.books.missing == 0)
        #expect(gateway.distinct == kafka.books.claimed)
        #expect(gateway.distinct == kafka.books.published)
        #expect(gateway.accepted == gateway.distinct, "each sent once")
        var newest: [String: Int] = [:]
        var count = 0
        try Sandbox.forEachAcceptance(file: acceptedLog) { line in
            let record = try JSONDecoder().decode(Acceptance.self, from: Data(line.utf8))
            let device = "\(record.topic) \(record.device)"
            #expect(newest[device] ?? -1 < record.n, "order of \(device)")
            newest[device] = record.n
            count += 1
        }
        #expect(count == gateway.accepted)
    }

    private struct Acceptance: Decodable {
        var topic: String
        var device: Int
        var n: Int
    }
}
