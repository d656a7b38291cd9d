import Foundation
import PipelineCore
import Sandbox
import Testing

@testable import Demo

extension IntegrationTests {
    /// A topic that does not work, beside one that does.
    struct ParkingTests {
        @Test(
            "what is parked survives its worker, is found by the next one and returns in order; another topic goes on",
            arguments: [SIGTERM, SIGKILL]
        )
        func restart(signal: Int32) async throws {
            try await Parking.with { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.sport","status":3,"every":1}"#
                )
                let first = try run.pipeline.startWorker()
                try run.publish(sport: 300, news: 600)
                try run.waitUntilOnlySportIsMissing()
                try run.publish(sport: 200, news: 200)
                try run.waitUntilOnlySportIsMissing()
                try run.waitUntilParked(500)
                first.signal(signal)
                #expect(try first.wait(within: patience) == (signal == SIGTERM ? 0 : 128 + SIGKILL))

                let second = try run.pipeline.startWorker()
                try run.publish(sport: 100, news: 100)
                try run.waitUntilOnlySportIsMissing()
                #expect(first.log.contains("it is parked and probed"))
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try await run.finish()
                #expect(WorkerLog.sum(of: "returned", in: [second]) >= 600)
            }
        }

        @Test("a topic whose certificate is refused is parked and returns later; another keeps its connection")
        func certificateRefused() async throws {
            try await Parking.with { run in
                let worker = try run.pipeline.startWorker()
                try run.publish(sport: 0, news: 100)
                try run.kafka.waitForOutcomes()
                try await run.pipeline.sandbox.setFault(#"{"name":"refuse-certificates"}"#)
                try run.publish(sport: 300, news: 300)
                try run.waitUntilOnlySportIsMissing()
                try run.waitUntilParked(300)
                try worker.waitForLogLine(with: "it is parked and probed", "certificate-refused", within: patience)
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try await run.finish()
                #expect(worker.log.contains("what was parked returns"))
            }
        }

        @Test("a gateway that calls all tokens invalid loses its word: few tombstones, and what is left returns later")
        func doubtedTokens() async throws {
            try await Parking.with { run in
                try await run.pipeline.sandbox.setFault(
                    #"{"name":"error-response","topic":"com.example.sport","status":8,"every":1}"#
                )
                let worker = try run.pipeline.startWorker()
                try run.publish(sport: 400, news: 100)
                try worker.waitForLogLine(with: "it is parked and probed", "tokens-doubted", within: patience)
                try run.waitUntilParked(300)
                try await run.pipeline.sandbox.setFault(#"{"clear":true}"#)
                try run.kafka.waitForOutcomes()
                // Fewer than the guard's sample before it trips, and at most half of the last probe's sample.
                #expect(run.kafka.books.count(.rejected) < 10 + 5)
                #expect(run.pipeline.stopWorkers() == [0])
                let gateway = try await run.pipeline.sandbox.stats()
                #expect(gateway.distinct == run.kafka.books.claimed)
            }
        }
    }
}

/// A pipeline with two topics in one partition, whose broken topic is probed often.
private struct Parking {
    let pipeline: LocalPipeline
    let kafka: DemoKafka
    private let acceptedLog: String
    private let topics: [RequestPlan.Topic]
    private let follower: TopicFollower

    static func with(_ body: (inout Parking) async throws -> Void) async throws {
        let log = NSTemporaryDirectory() + "belfry-parking-\(UUID().uuidString)"
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
            let follower = try TopicFollower(brokers: pipeline.brokers, topics: ["push.parked"])
            defer { follower.close() }
            var run = Parking(
                pipeline: pipeline,
                kafka: kafka,
                acceptedLog: log,
                topics: try pipeline.options.topics.map { name in
                    let tokens = try pipeline.tokens(of: name, first: 0, count: 200)
                    return RequestPlan.Topic(bundleID: name, living: tokens, uninstalled: [])
                },
                follower: follower
            )
            try await body(&run)
        }
    }

    private var plan = RequestPlan(seed: 11, firstNumber: 0, now: unixSeconds())
    private var ofSport = 0

    private init(
        pipeline: LocalPipeline,
        kafka: DemoKafka,
        acceptedLog: String,
        topics: [RequestPlan.Topic],
        follower: TopicFollower
    ) {
        self.pipeline = pipeline
        self.kafka = kafka
        self.acceptedLog = acceptedLog
        self.topics = topics
        self.follower = follower
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

    /// Waits until so many notifications are in push.parked and nothing would be sent again.
    func waitUntilParked(_ notifications: Int) throws {
        try kafka.wait(for: "copies") {
            follower.poll()
            return parked >= notifications
        }
        for message in follower.messages {
            #expect(message.headers["source-topic"] == "push.requests")
            #expect(message.headers["source-partition"] == "\(message.partition)")
            #expect(message.headers["environment"] == "sandbox")
            #expect(message.headers["parked-by"]?.isEmpty == false)
            #expect(message.key.starts(with: Array("com.example.sport".utf8)))
        }
        try kafka.wait(for: "a commit of everything") {
            try CommittedState(brokers: pipeline.brokers, partitions: 1).uncovered(of: kafka.places, in: [0]) == 0
        }
    }

    private var parked: Int {
        follower.messages.reduce(0) { sum, message in
            let offset = Int64(message.headers["source-offset"] ?? "") ?? -1
            let all = kafka.places.first { $0.partition == message.partition && $0.offset == offset }?.notifications
            return sum + (message.headers["token-indices"].map { TokenRuns($0)?.count ?? 0 } ?? all ?? 0)
        }
    }

    /// Waits for all outcomes; then the books balance, nothing was sent twice, and every device got its notifications in
    /// order.
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
