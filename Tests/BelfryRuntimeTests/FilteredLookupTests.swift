import KafkaClient
import NIOCore
import NIOEmbedded
import PipelineCore
import RedisClient
import Testing

@testable import BelfryRuntime

/// Which tokens a shard asks of Redis, beside a filter of dead tokens.
@Suite("Look-ups of a shard with a filter")
struct FilteredLookupTests {
    private final class Bench {
        static let maxAge = Duration.seconds(30)

        let eventLoop = EmbeddedEventLoop()
        let redis: ScriptedRedis
        let filters: TombstoneFilters
        let shard: WorkerShard
        private let bytes: UnsafeMutableRawBufferPointer

        init(memoryBytes: Int = .max) throws {
            redis = ScriptedRedis(on: eventLoop)
            redis.isMute = true
            filters = TombstoneFilters(
                maxAge: Self.maxAge,
                memoryBytes: memoryBytes,
                writer: eventLoop,
                readers: [eventLoop],
                logger: LogLines().logger
            ) { _, _ in true }
            var configuration = BelfryConfiguration()
            configuration.environments = [EnvironmentSettings(name: TokenStore.environment, gateways: [])]
            shard = WorkerShard.scripted(
                ScriptedGroup(),
                configuration: configuration,
                redis: redis,
                filters: filters,
                gateways: SilentDoor(eventLoop),
                on: eventLoop
            )
            // Token N: 32 times N.
            bytes = .allocate(byteCount: 32 * 256, alignment: 1)
            for index in bytes.indices { bytes[index] = UInt8(index / 32) }
            eventLoop.advanceTime(by: .seconds(1))
            try shard.addSender(TokenStore.bundleID)
        }

        deinit { bytes.deallocate() }

        var now: MonotonicTime { MonotonicTime(eventLoop.now) }

        /// How many of a batch of tokens Redis is asked for.
        func asked(for tokens: UInt8...) -> Int { asked(for: tokens.map { (0, $0) }) }

        /// - Parameter tokens: each of the topic with that number.
        func asked(for tokens: [(topic: Int32, token: UInt8)]) -> Int { ask(for: batch(of: tokens)) }

        /// How many of a batch Redis is asked for now.
        func ask(for batch: PreparedBatch) -> Int {
            let before = redis.questions
            shard.prepared = [batch]
            shard.requestTokenState()
            shard.prepared = []
            eventLoop.run()
            return redis.questions - before
        }

        func batch(of tokens: [(topic: Int32, token: UInt8)]) -> PreparedBatch {
            let batch = PreparedBatch(source: KafkaBatch([]), number: 1)
            for (index, (topic, token)) in tokens.enumerated() {
                batch.append(
                    PreparedNotification(
                        reference: .init(assignment: 0, record: 0, token: UInt32(index)),
                        token: UnsafeRawBufferPointer(rebasing: bytes[Int(token) * 32..<Int(token) * 32 + 32]),
                        checksum: UInt32(token),
                        sender: topic,
                        payloadOffset: 0,
                        payloadBytes: 0,
                        priority: .immediate,
                        expiration: 0
                    )
                )
            }
            return batch
        }

        func kill(_ token: UInt8) {
            let change = TokenChange.death(token)
            filters.merge(
                environment: change.environment,
                bundleID: change.bundleID,
                token: change.token,
                .dead(at: 1)
            )
        }

        func wait(_ duration: Duration) { eventLoop.advanceTime(by: .nanoseconds(Int64(duration.wholeNanoseconds))) }
    }

    @Test("Redis is asked for every token until the filter is complete, and then for those that it holds")
    func complete() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.kill(2)
        #expect(bench.asked(for: 1, 2, 3) == 3)
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: 1, 2, 3) == 1)
        #expect(bench.asked(for: 1, 3) == 0)
        #expect(bench.shard.counters.lookUps == 4)
    }

    @Test("Beyond its longest age Redis is asked for every token again, until it is younger")
    func stale() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.kill(2)
        bench.filters.complete(asOf: bench.now)
        bench.wait(Bench.maxAge)
        #expect(bench.asked(for: 1, 2, 3) == 1)
        bench.wait(.nanoseconds(1))
        #expect(bench.asked(for: 1, 2, 3) == 3)
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: 1, 2, 3) == 1)
    }

    @Test("Each token of a mixed batch is judged by what is known of its own topic")
    func mixed() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        let other = try bench.shard.addSender("com.example.weather")
        bench.kill(2)
        other.refusedTokens.insert([UInt8](repeating: 5, count: 32), checksum: 5, refusedAt: 1)
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: [(0, 2), (1, 2), (0, 2), (1, 5), (0, 5), (1, 5)]) == 4)
        #expect(bench.asked(for: [(1, 2), (0, 5), (1, 1), (0, 1)]) == 0)
    }

    @Test("A token that the gateway refused a moment ago is asked for: it may have registered since")
    func refused() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.filters.complete(asOf: bench.now)
        bench.shard.senders.senders[0].refusedTokens
            .insert([UInt8](repeating: 3, count: 32), checksum: 3, refusedAt: 1)
        #expect(bench.asked(for: 1, 3, 2) == 1)
    }

    @Test("What was asked in vain is asked again, not at once; and who was dead, for they may have registered since")
    func again() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.redis.isMute = false
        bench.redis.room = 2
        let batch = bench.batch(of: (1...5).map { (0, $0) })
        // Who is answered for is not known, which a script is asked for in turn.
        #expect(bench.ask(for: batch) == 5 + 2)
        batch.deaths = [0: .feedback]
        bench.redis.room = 3
        #expect(bench.ask(for: batch) == 0, "it would be refused again")
        bench.wait(.seconds(1))
        #expect(bench.ask(for: batch) == 4 + 3)
        bench.wait(.seconds(1))
        bench.redis.room = .max
        #expect(bench.ask(for: batch) == 1 + 1)
        var isKnown = false
        if case .known = batch.lookup { isKnown = true }
        #expect(isKnown)
        #expect(batch.deaths.isEmpty)
        #expect(bench.ask(for: batch) == 0)
    }

    @Test("A connection that is back is asked at once")
    func back() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.redis.room = 0
        let batch = bench.batch(of: [(0, 1)])
        #expect(bench.ask(for: batch) == 1)
        bench.redis.room = .max
        bench.shard.prepared = [batch]
        bench.shard.redisConnected()
        bench.shard.prepared = []
        #expect(bench.redis.questions == 2)
    }

    @Test("A bundle whose filter was given up is asked for like one without")
    func givenUp() throws {
        let bench = try Bench(memoryBytes: TombstoneFilter.firstBytes)
        defer { bench.shard.leave() }
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: 1, 200) == 0)
        for token in 2...194 as ClosedRange<UInt8> { bench.kill(token) }
        #expect(bench.filters.givenUp == 1)
        #expect(bench.asked(for: 1, 200) == 2)
    }
}
