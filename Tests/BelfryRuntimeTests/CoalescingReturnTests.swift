import NIOEmbedded
import PipelineCore
import Testing

@testable import BelfryRuntime
@testable import KafkaClient

/// What comes back from push.parked is a backlog like any other.
@Suite("Requests with a coalescing key that were parked")
struct CoalescingReturnTests {
    @Test("of those of one device and key only the newest returns, by when and where its source was published")
    func newest() throws {
        let bench = CoalescingBench(parked: 6)
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        try bench.bringBack(
            .init(token: 1, key: "score", offset: 0, publishedAt: 10),
            .init(token: 2, key: "score", offset: 4, publishedAt: 11),
            .init(token: 1, key: "score", offset: 2, publishedAt: 30),
            .init(token: 1, key: "score", offset: 3, publishedAt: 20),
            .init(token: 2, key: "score", offset: 1, publishedAt: 11)
        )
        bench.wait(milliseconds: 20)
        #expect(bench.inLane.isEmpty && bench.superseded == 3, "one copy is still to be read")
        try bench.bringBack(.init(token: 3, key: "", offset: 5))
        bench.wait(milliseconds: 40)
        #expect(bench.inLane.filter(\.returned).map(\.record) == [5, 1, 2])
        #expect(bench.superseded == 3 && bench.shard.coalescing.isEmpty)
    }

    @Test("what is new supersedes what returns, whether it comes while that waits, or waited itself in memory")
    func newAndOld() throws {
        let bench = CoalescingBench(parked: 3)
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.shard.assigned[0]?.parking.held.values.first?.count == 1, "it is held until all has come back")
        try bench.bringBack(.init(token: 1, key: "score", offset: 0), .init(token: 2, key: "score", offset: 1))
        bench.wait(milliseconds: 20)
        try bench.bring((2, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.superseded == 1 && bench.inLane.isEmpty, "the second token's is superseded by what came last")
        try bench.bringBack(.init(token: 3, key: "", offset: 2))
        bench.wait(milliseconds: 40)
        #expect(bench.superseded == 2)
        #expect(bench.sentTokens.sorted() == [1, 2, 3])
        #expect(bench.inLane.filter(\.returned).count == 1)
    }

    @Test("what waits when its topic breaks again is read again")
    func brokenAgain() throws {
        let bench = CoalescingBench(parked: 3)
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        try bench.bringBack(.init(token: 1, key: "score", offset: 0), .init(token: 2, key: "score", offset: 1))
        bench.wait(milliseconds: 20)
        #expect(bench.shard.coalescing.count == 2)
        let sender = try #require(bench.shard.senders.senders.first)
        sender.breaker.failed(.topicRefused, now: bench.shard.now, random: 0)
        bench.wait(milliseconds: 40)
        #expect(bench.shard.coalescing.isEmpty && bench.sentTokens.isEmpty)
        let lag = try #require(bench.shard.assigned[0]?.parking.lags.values.first)
        #expect(lag.cursor == 0 && lag.frontier.nextOffset == nil, "nothing of it is taken in")
    }

    @Test("nobody waits for more where no more is read: while the topic is probed, or without room")
    func noMore() throws {
        let bench = CoalescingBench(parked: 100) { $0.worker.maxUncommitted = 2 }
        defer { bench.shard.leave() }
        try bench.makeSender(works: false)
        try bench.bringBack(.init(token: 1, key: "score", offset: 0))
        bench.wait(milliseconds: 20)
        #expect(bench.sentTokens == [1], "it is what the topic is probed with")
        bench.shard.senders.senders.first?.breaker.accepted(1)
        try bench.bringBack(.init(token: 2, key: "score", offset: 1))
        bench.wait(milliseconds: 40)
        #expect(bench.sentTokens == [1], "the lane has not written the first")
        try bench.bringBack(.init(token: 3, key: "score", offset: 2))
        bench.wait(milliseconds: 40)
        #expect(bench.shard.coalescing.machine.gates.allSatisfy { if case .lane = $0 { true } else { false } })
    }

    @Test("what waits for more goes on when there is no more room")
    func roomEnds() throws {
        let bench = CoalescingBench(parked: 100) { $0.worker.maxUncommitted = 4 }
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        try bench.bringBack(.init(token: 1, key: "score", offset: 0), .init(token: 2, key: "score", offset: 1))
        bench.wait(milliseconds: 40)
        #expect(bench.shard.coalescing.count == 2)
        try bench.bringBack(.init(token: 3, key: "score", offset: 2))
        bench.wait(milliseconds: 40)
        #expect(bench.sentTokens.sorted() == [1, 2, 3] && bench.shard.coalescing.isEmpty)
    }

    @Test("what came while its topic was parked has its window when that is over")
    func lateWindow() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = ScriptedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis, parked: 1) {
            $0.worker.coalescingWindow = .seconds(2)
        }
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        bench.group.cachedEnd = 100
        redis.window = 2000
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 40)
        try bench.bringBack(.init(token: 2, key: "", offset: 0))
        bench.wait(milliseconds: 40)
        #expect(bench.shard.coalescing.count == 1 && redis.windowQuestions == 0, "it is behind a backlog")
        bench.wait(milliseconds: 1000)
        #expect(bench.sentTokens == [2] && redis.windowQuestions == 1, "the backlog has ended")
        redis.window = 0
        bench.wait(milliseconds: 2000)
        #expect(bench.sentTokens == [2, 1] && redis.windowQuestions == 2)
    }

    @Test("the window of what is parked is that of its return")
    func window() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = ScriptedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis, parked: 3) { $0.worker.coalescingWindow = .seconds(2) }
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        bench.group.cachedEnd = 0
        try bench.bring((5, "score"))
        bench.wait(milliseconds: 100)
        #expect(redis.windowQuestions == 0, "it is held: its window is that of its going on")
        redis.window = 2000
        try bench.bringBack(
            .init(token: 1, key: "score", offset: 0),
            .init(token: 1, key: "score", offset: 1),
            .init(token: 2, key: "score", offset: 2)
        )
        bench.wait(milliseconds: 1900)
        #expect(bench.sentTokens.isEmpty && bench.superseded == 1 && redis.windowQuestions == 3)
        redis.window = 0
        bench.wait(milliseconds: 300)
        #expect(bench.sentTokens == [1, 2, 5])
        #expect(redis.windowQuestions == 6)
    }

    @Test("a sample of tokens is not judged while some of it waits for its window")
    func sample() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = ScriptedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis, parked: 1) {
            $0.worker.coalescingWindow = .seconds(20)
            $0.worker.parkProbeBase = .seconds(1)
        }
        defer { bench.shard.leave() }
        try bench.makeSender(works: true)
        let sender = try #require(bench.shard.senders.senders.first)
        sender.breaker.failed(.tokensDoubted, now: bench.shard.now, random: 0)
        bench.wait(milliseconds: 3000)
        #expect(sender.breaker.holdsRefusals)
        redis.window = 20_000
        try bench.bringBack(.init(token: 1, key: "score", offset: 0))
        bench.wait(milliseconds: 100)
        #expect(bench.shard.coalescing.count == 1)
        _ = sender.breaker.tokenRefused(now: bench.shard.now, random: 0)
        bench.wait(milliseconds: 100)
        #expect(sender.breaker.holdsRefusals, "the only answer so far was bad, but not all have come")
    }
}
