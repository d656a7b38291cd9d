import BelfrySupport
import Foundation
import KafkaClient
import KafkaTestSupport
import LocalPipeline
import Logging
import NIOCore
import NIOEmbedded
import PipelineCore
import Testing
import Workbench

@testable import TokenState

extension IntegrationTests {
    /// The filter of dead tokens, and the broker that it is kept current from.
    struct FilterTests {
        /// A follower on a broker, under a clock that stands still unless the test moves it.
        private final class Bench {
            static let topic = "push.tombstones"
            static let environment = "sandbox"
            static let maxAge = Duration.seconds(40)

            let eventLoop = EmbeddedEventLoop()
            let filters: DeadTokenSets
            private let brokers: String
            private let follower: TombstoneFollower

            init(_ brokers: String) throws {
                self.brokers = brokers
                let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
                filters = DeadTokenSets(
                    maxAge: Self.maxAge,
                    memoryBytes: .max,
                    writer: eventLoop,
                    readers: [],
                    logger: logger
                ) { _, _ in true }
                // So little in advance that what is deleted on the broker was not fetched yet.
                let properties: KafkaProperties = [
                    "bootstrap.servers": brokers, "queued.max.messages.kbytes": "16", "fetch.wait.max.ms": "20",
                    "fetch.message.max.bytes": "16384",
                ]
                follower = TombstoneFollower(
                    eventLoop: eventLoop,
                    reader: try KafkaReader(properties: properties),
                    topic: Self.topic,
                    partitions: 1,
                    filters: filters,
                    logger: logger
                )
                eventLoop.advanceTime(by: .seconds(1))
            }

            func stop() { follower.stop() }

            var now: MonotonicTime { MonotonicTime(nanoseconds: eventLoop.now.uptimeNanoseconds) }
            var isTrusted: Bool { filters.isComplete(now: now) }

            /// Lets it look until it knows everything up to now.
            func catchUp() throws {
                wait(.seconds(1))
                try turn(by: .seconds(1)) { filters.completeSince == now }
            }

            /// Moves the clock and lets the follower look once.
            func wait(_ time: TimeAmount) {
                eventLoop.advanceTime(by: time)
                follower.turn()
            }

            /// Lets the follower look until `condition` holds.
            ///
            /// - Parameter step: how far the clock moves meanwhile, each time.
            func turn(by step: TimeAmount = .zero, until condition: () -> Bool) throws {
                let deadline = ContinuousClock.now + patience
                while !condition() {
                    try #require(ContinuousClock.now < deadline)
                    wait(step)
                }
            }

            /// Publishes the deaths of tokens, in this order.
            func publish(_ tokens: Range<Int>) throws {
                let producer = try KafkaProducer(properties: ["bootstrap.servers": brokers])
                let publisher = TombstonePublisher(
                    producer: producer,
                    topic: Self.topic,
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                    clock: { MonotonicTime(.now()) }
                )
                var acknowledged = 0
                producer.onDelivery = { number, error, _, _ in publisher.delivered(number, error: error) }
                defer { producer.close() }
                for number in tokens {
                    let change = TokenChange(
                        environment: Self.environment,
                        bundleID: news,
                        token: Self.token(number),
                        kind: .tombstone(at: 1, .feedback)
                    )
                    let facts = TokenFacts(registeredAt: 0, tombstonedAt: 1, reason: .feedback, wasRevived: false)
                    publisher.publish(change, facts) { acknowledged += 1 }
                    if number % 10_000 == 9_999 { try producer.flush(timeoutMilliseconds: 30_000) }
                }
                try producer.flush(timeoutMilliseconds: 30_000)
                #expect(acknowledged == tokens.count)
            }

            func holds(_ number: Int) -> Bool {
                let hash = Self.token(number).withUnsafeBytes { DeadTokenSet.hash($0) }
                return filters.deadTokens(environment: Self.environment, bundleID: news).contains(hash)
            }

            private static func token(_ number: Int) -> [UInt8] {
                withUnsafeBytes(of: number.bigEndian) { [UInt8](repeating: 0, count: 24) + $0 }
            }
        }

        @Test("A broker that goes away leaves a filter that ages until it is not trusted, and that catches up")
        func away() throws {
            let broker = try EmbeddedBroker(topics: [(Bench.topic, 1)])
            defer { broker.close() }
            let bench = try Bench(broker.bootstrapServers)
            defer { bench.stop() }
            try bench.publish(0..<10)
            try bench.catchUp()
            #expect(bench.isTrusted && bench.filters.count == 10)
            let since = bench.now

            broker.setDown(true)
            bench.wait(.seconds(30))
            #expect(bench.filters.completeSince == since)
            #expect(bench.isTrusted)
            bench.wait(.seconds(11))
            #expect(bench.filters.completeSince == since)
            #expect(!bench.isTrusted)

            broker.setDown(false)
            try bench.publish(10..<11)
            try bench.catchUp()
            #expect(bench.holds(10) && bench.filters.count == 11)
        }

        @Test("A filter that retention has overtaken is not trusted until all that is left was read")
        func overtaken() throws {
            let broker = try EmbeddedBroker(topics: [(Bench.topic, 1)])
            defer { broker.close() }
            let bench = try Bench(broker.bootstrapServers)
            defer { bench.stop() }
            try bench.publish(0..<10)
            try bench.catchUp()

            // The broker keeps 5 MiB; the rest is gone before the filter asks what there is.
            let end = 200_000
            try bench.publish(10..<end)
            try bench.turn { bench.filters.completeSince == nil }
            #expect(!bench.isTrusted && !bench.holds(end - 1))
            try bench.catchUp()
            let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
            defer { admin.close() }
            let marks = try admin.watermarks(of: .init(topic: Bench.topic, partition: 0), timeoutMilliseconds: 30_000)
            #expect(marks.low > 10 && marks.high == end)
            #expect((Int(marks.low)..<end).allSatisfy(bench.holds))
            #expect((0..<10).allSatisfy(bench.holds), "what was known is not forgotten")
        }

        @Test("A topic made anew, shorter than before, is read from its beginning before the filter is trusted again")
        func madeAnew() throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try broker.createTopic()
            let bench = try Bench(broker.bootstrapServers)
            defer { bench.stop() }
            try bench.publish(0..<1000)
            try bench.catchUp()
            #expect(bench.filters.count == 1000)

            broker.remove()
            try broker.waitUntilGone()
            try broker.start()
            try broker.createTopic()
            try bench.publish(1000..<1100)
            try bench.catchUp()
            #expect((0..<1100).allSatisfy(bench.holds))
        }

        @Test("A worker's filter grows too old while its broker is away, and is complete again once that is back")
        func worker() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline { options in
                options.kafka = broker.bootstrapServers
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                // Longer than a worker on a busy machine may be late: a filter that is too old for a moment asks Redis.
                let worker = try pipeline.startWorker(environment: ["BELFRY_WORKER_FILTER_MAX_AGE": "5s"])
                try worker.waitForLogLine(with: Self.complete, within: patience)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 1))
                try kafka.deliver(try records.record(to: records.tokens))

                let operations = try OperationsClient(of: worker, kafka)
                broker.stop()
                try broker.waitUntilGone()
                try worker.waitForLogLine(with: "the filter of dead tokens is too old", within: patience)
                let before = Self.completions(of: worker)
                #expect(try #require(await operations.metrics()["belfry_tombstone_filter_age_seconds"]) > 5)

                try broker.start()
                try kafka.wait(for: "the filter to be complete again", within: patienceSeconds) {
                    Self.completions(of: worker) > before
                }
                // Sending that does not need Redis goes on without it.
                pipeline.stopRedis()
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.lastKind == .presumed && kafka.books.claimed == 2)
                #expect(WorkerLog.sum(of: "sent-without-token-state", in: [worker]) == 0)
                try pipeline.startRedis()
                #expect(pipeline.stopWorkers() == [0])
            }
        }

        private static let complete = "the filter of dead tokens is complete"

        private static func completions(of worker: ChildProcess) -> Int {
            worker.log.components(separatedBy: complete).count - 1
        }
    }
}

extension ForeignBroker {
    /// Creates push.tombstones with one partition.
    fileprivate func createTopic() throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": bootstrapServers])
        defer { admin.close() }
        try admin.createTopic("push.tombstones", partitions: 1, replication: 1, timeoutMilliseconds: 10_000)
    }
}
