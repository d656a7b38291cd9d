import BelfrySupport
import KafkaClient
import NIOCore
import NIOEmbedded
import PipelineCore
import PushSchemas
import RedisClient
import RequestRules
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers
@testable import TokenState

/// Tokens that a shard asks of Redis, beside a filter of dead tokens.
@Suite("Look-ups of a shard with a filter")
struct FilteredLookupTests {
    private final class Bench {
        static let maxAge = Duration.seconds(30)

        let eventLoop = EmbeddedEventLoop()
        let redis: SimulatedRedis
        let filters: DeadTokenSets
        let shard: WorkerShard
        private(set) var topics: [Topic] = []
        private let bytes: UnsafeMutableRawBufferPointer
        private let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "push.requests", partition: 0),
            doneBelow: 0,
            table: FeedTable(),
            budget: ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        )

        /// - Parameter layout: nil: Redis was away when the worker began, which only one does that sends without it.
        init(memoryBytes: Int = .max, layout: TokenLayout? = TokenStore.layout) throws {
            redis = SimulatedRedis(on: eventLoop)
            redis.isMute = true
            filters = DeadTokenSets(
                maxAge: Self.maxAge,
                memoryBytes: memoryBytes,
                writer: eventLoop,
                readers: [eventLoop],
                logger: LogLines().logger
            ) { _, _ in true }
            var configuration = BelfryConfiguration()
            configuration.environments = [EnvironmentSettings(name: TokenStore.environment, gateways: [])]
            if layout == nil { configuration.redis.whenAway = .send }
            shard = WorkerShard.scripted(
                SimulatedMember(on: eventLoop, topic: "push.requests"),
                configuration: configuration,
                redis: redis,
                layout: layout,
                filters: filters,
                on: eventLoop
            )
            // Token N: 32 times N.
            bytes = .allocate(byteCount: 32 * 256, alignment: 1)
            for index in bytes.indices { bytes[index] = UInt8(index / 32) }
            eventLoop.advanceTime(by: .seconds(1))
            topics = [try shard.addTopic(TokenStore.bundleID)]
        }

        deinit { bytes.deallocate() }

        /// Redis has no room for the next look-ups.
        func refuse(_ count: Int) {
            redis.refusals["HGET"] = Array(repeating: .notSent(reason: "no room"), count: count)
        }

        var now: MonotonicTime { MonotonicTime(eventLoop.now) }

        /// Number of a batch's tokens that Redis is asked for.
        func asked(for tokens: UInt8...) -> Int { asked(for: tokens.map { (0, $0) }) }

        /// - Parameter tokens: each of the topic with that number.
        func asked(for tokens: [(topic: Int, token: UInt8)]) -> Int { ask(for: batch(of: tokens)) }

        /// Number of a batch's tokens that Redis is asked for now.
        func ask(for batch: PreparedBatch) -> Int {
            let before = redis.count("HGET")
            lookup.add(batch)
            lookup.ask()
            eventLoop.run()
            return redis.count("HGET") - before
        }

        /// Asks again where an answer is missing.
        func askAgain() -> Int {
            let before = redis.count("HGET")
            lookup.ask()
            eventLoop.run()
            return redis.count("HGET") - before
        }

        var lookup: Lookup { shard.stages.lookup }
        /// For each stage behind the look-up.
        var isRedisAway: Bool { shard.stages.redis.isAway }

        func addTopic(_ bundleID: String) throws { topics.append(try shard.addTopic(bundleID)) }

        func refuse(_ token: UInt8, ofTopic topic: Int) {
            shard.stages.routing.refuse(
                TombstoneWriter.Refused(
                    topic: topics[topic],
                    token: [UInt8](repeating: token, count: 32),
                    checksum: UInt32(token),
                    ticket: 1,
                    refusedAt: 1,
                    loopTime: now,
                    isProven: false
                )
            )
        }

        /// Takes what can go on: the batch, and the rows of its records.
        func takeKnown() -> [UInt64: [Int]] {
            var taken: [UInt64: [Int]] = [:]
            while let known = lookup.takeKnown() {
                taken[known.batch.number] = known.rows
                #expect(known.isInOrder == (known.batch.oldest == known.batch.number))
            }
            return taken
        }

        /// - Parameter terms: of all records.
        func batch(
            of tokens: [(topic: Int, token: UInt8)],
            number: UInt64 = 1,
            terms: DeliveryTerms = .binary(.immediate)
        ) -> PreparedBatch {
            let batch = PreparedBatch(source: KafkaBatch([]), number: number)
            for (topic, token) in tokens {
                let account = AppAccount(topics[topic])
                batch.append(
                    PreparedRecord(
                        feed: partition.feed(of: AppHash(value: UInt64(10 + topic)), account: account),
                        topic: topics[topic],
                        number: 0,
                        expiration: 0,
                        payload: PreparedPayload(offset: 0, bytes: 0, terms: terms),
                        notifications: batch.count..<batch.count
                    ),
                    tokens: 1
                )
                batch.append(
                    token: UnsafeRawBufferPointer(rebasing: bytes[Int(token) * 32..<Int(token) * 32 + 32]),
                    checksum: UInt32(token),
                    position: 0
                )
                batch.closeRecord()
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
        #expect(bench.shard.stages.counters.lookUps == 4)
    }

    @Test("Redis is asked nothing about channels, which stand in the places of tokens")
    func channels() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        let broadcast = try IntakeBench().take {
            $0.packedTokens = .init()
            $0.channel = "AAAA"
            $0.expiration = 0
            $0.priority = 10
        }
        let terms = try #require(broadcast?.records.first?.payload.terms)
        #expect(bench.ask(for: bench.batch(of: [(0, 1), (0, 2)], terms: terms)) == 0)
        #expect(bench.lookup.takeKnown() != nil)
        #expect(bench.asked(for: 1, 2) == 2)
    }

    @Test("Redis is asked for the language of devices that the filter says nothing of")
    func languages() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.filters.complete(asOf: bench.now)
        bench.kill(2)
        let structured = try #require(
            try IntakeBench().take {
                $0.notification.alert.body = "Goal"
                $0.notification.localizations["de"] = PushAlert.with { $0.body = "Tor" }
            }
        )
        let rendered = try #require(structured.records.first?.rendered)
        #expect(bench.asked(for: 1, 2, 3) == 1)
        let batch = bench.batch(of: [(0, 1), (0, 2)])
        batch.append(batch.records[0], rendered: rendered, token: batch.tokens[0])
        #expect(bench.ask(for: batch) == 2, "the dead one, and the one whose language matters")
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
        try bench.addTopic("com.example.weather")
        bench.kill(2)
        bench.refuse(5, ofTopic: 1)
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: [(0, 2), (1, 2), (0, 2), (1, 5), (0, 5), (1, 5)]) == 4)
        #expect(bench.asked(for: [(1, 2), (0, 5), (1, 1), (0, 1)]) == 0)
    }

    @Test("A token that the gateway refused a moment ago is asked for: it may have registered since")
    func refused() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.filters.complete(asOf: bench.now)
        bench.refuse(3, ofTopic: 0)
        #expect(bench.asked(for: 1, 3, 2) == 1)
    }

    @Test("Tokens asked for in vain are asked for again, not at once; dead ones too, which may have registered since")
    func again() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.redis.isMute = false
        bench.refuse(3)
        let batch = bench.batch(of: (1...5).map { (0, $0) })
        #expect(bench.ask(for: batch) == 5)
        batch.verdicts[4] = .isDeadByFeedback
        bench.refuse(1)
        #expect(bench.askAgain() == 0, "it would be refused again")
        bench.wait(.seconds(1))
        #expect(bench.askAgain() == 4)
        bench.wait(.seconds(1))
        #expect(bench.askAgain() == 1)
        #expect(bench.redis.count("GET") == 5 + 4 + 1, "once for each tag, for none of the tokens is known")
        #expect(bench.lookup.count == 0 && bench.shard.stages.counters.sent == 5, "it has gone on")
        #expect(batch.verdicts == Array(repeating: .sends, count: 5))
    }

    @Test("A connection that is back is asked at once")
    func back() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        bench.refuse(1)
        let batch = bench.batch(of: [(0, 1)])
        #expect(bench.ask(for: batch) == 1)
        bench.shard.redisConnected()
        #expect(bench.redis.count("HGET") == 2)
    }

    @Test("Until Redis tells where tokens lie nothing is asked, and sending goes on; then it is asked for tokens")
    func unknownPlaces() throws {
        let bench = try Bench(layout: nil)
        defer { bench.shard.leave() }
        #expect(bench.asked(for: 1, 2) == 0)
        #expect(bench.lookup.takeKnown() == nil, "it may still come")
        bench.wait(.seconds(1))
        bench.lookup.endLate(now: bench.now)
        #expect(bench.lookup.takeKnown()?.batch.isWithoutState == true)
        #expect(bench.asked(for: 3) == 0)
        #expect(bench.lookup.takeKnown()?.batch.isWithoutState == true, "nothing waits any more")
        // A connection alone does not help.
        bench.shard.redisConnected()
        #expect(bench.isRedisAway && bench.asked(for: 4) == 0)
        #expect(bench.lookup.takeKnown()?.batch.isWithoutState == true)
        bench.shard.use(TokenStore.layout)
        #expect(!bench.isRedisAway && bench.asked(for: 5) == 1)
    }

    @Test("Until Redis tells where tokens lie it counts as away for all stages, also if no look-up waited for it")
    func unknownPlacesDownstream() throws {
        let bench = try Bench(layout: nil)
        defer { bench.shard.leave() }
        #expect(bench.isRedisAway)
        bench.shard.use(TokenStore.layout)
        #expect(!bench.isRedisAway)
    }

    // MARK: Passing

    @Test("Topics that need nothing of Redis pass those that wait for it, each topic in its own order")
    func passing() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        try bench.addTopic("com.example.weather")
        bench.filters.complete(asOf: bench.now)
        bench.kill(2)
        #expect(bench.ask(for: bench.batch(of: [(1, 1), (0, 2), (1, 3)], number: 4)) == 1)
        #expect(bench.ask(for: bench.batch(of: [(0, 1), (1, 4)], number: 5)) == 0)
        #expect(bench.ask(for: bench.batch(of: [(1, 5)], number: 6)) == 0)
        #expect(bench.takeKnown().isEmpty && bench.lookup.countedBatches == 3, "the answer may come at any moment")
        bench.wait(ShardLimits.passedAfter)
        let oldest = bench.lookup.takeKnown()
        #expect(oldest?.rows == [0, 2] && oldest?.batch.oldest == 4 && oldest?.isInOrder == false)
        let next = bench.lookup.takeKnown()
        #expect(next?.rows == [1] && next?.batch.oldest == 4 && next?.isInOrder == false)
        #expect(bench.takeKnown() == [6: [0]])
        #expect(bench.lookup.holds(bench.topics[0]) && !bench.lookup.holds(bench.topics[1]))
        #expect(bench.lookup.count == 2 && bench.lookup.countedBatches == 0)
        // Another one that needs Redis is not fed any more, either.
        #expect(bench.ask(for: bench.batch(of: [(1, 2), (1, 6)], number: 7)) == 0, "it lives")
        #expect(bench.takeKnown() == [7: [0, 1]])
    }

    @Test("Where all wait for Redis nothing passes, and the stage fills")
    func nothingPasses() throws {
        let bench = try Bench()
        defer { bench.shard.leave() }
        #expect(bench.ask(for: bench.batch(of: [(0, 1)], number: 1)) == 1)
        #expect(bench.ask(for: bench.batch(of: [(0, 2)], number: 2)) == 1)
        bench.wait(.seconds(60))
        #expect(bench.takeKnown().isEmpty && bench.lookup.countedBatches == 2)
        #expect(!bench.lookup.holds(bench.topics[0]))
    }

    @Test("A bundle whose filter was given up is asked for like one without")
    func givenUp() throws {
        let bench = try Bench(memoryBytes: DeadTokenSet.firstBytes)
        defer { bench.shard.leave() }
        bench.filters.complete(asOf: bench.now)
        #expect(bench.asked(for: 1, 200) == 0)
        for token in 2...194 as ClosedRange<UInt8> { bench.kill(token) }
        #expect(bench.filters.givenUp == 1)
        #expect(bench.asked(for: 1, 200) == 2)
    }
}

extension PreparedBatch {
    /// Appends a record like another with one notification, whose payload depends on the language.
    fileprivate func append(_ record: PreparedRecord, rendered: RenderedPayloads, token: UnsafeRawBufferPointer) {
        var record = record
        record.rendered = rendered
        record.notifications = count..<count
        append(record, tokens: 1)
        append(token: token, checksum: 0, position: 0)
        closeRecord()
    }
}
