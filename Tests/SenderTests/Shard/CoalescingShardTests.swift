import BelfrySupport
import NIOEmbedded
import PipelineCore
import Testing

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// A shard with requests that have a coalescing key. Its gateway never answers, so what it sends stays in its lanes.
@Suite("Requests with a coalescing key")
struct CoalescingShardTests {
    @Test(
        "The newest of those that wait in a backlog is sent, when the backlog has been seen; one without a key passes"
    )
    func backlog() throws {
        let bench = CoalescingBench()
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 6
        try bench.bring((1, "score"), (2, "score"), (1, ""), (1, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.sent == [2] && bench.superseded == 1 && bench.waiting == 2)
        bench.group.cachedEnd = 7
        try bench.bring((1, "other"), (1, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.sent == [2, 1, 5] && bench.superseded == 2, "the end is that at the arrival of a key's first")
        #expect(bench.waiting == 1, "the other key's end is one further on")
    }

    @Test("At the end of the partition nothing waits")
    func atTheEnd() throws {
        let bench = CoalescingBench()
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 1
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.sent == [0] && bench.waiting == 0 && bench.superseded == 0)
    }

    @Test("An end before which nothing more comes counts as reached")
    func standstill() throws {
        let bench = CoalescingBench()
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 2
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 200)
        #expect(bench.sent.isEmpty)
        bench.wait(milliseconds: 200)
        #expect(bench.sent == [0])
    }

    @Test("A request that would wait in a lane waits where it can be superseded; when the topic stops, it is fed anew")
    func lane() throws {
        let bench = CoalescingBench { $0.worker.parkAfter = .seconds(3) }
        defer { bench.shard.leave() }
        bench.gateway.timeout = .seconds(5)
        bench.group.cachedEnd = 0
        try bench.bring((9, ""), (1, "score"))
        bench.wait(milliseconds: 1000)
        try bench.bring((1, "score"), (2, "score"))
        bench.wait(milliseconds: 1000)
        #expect(bench.sent == [0] && bench.superseded == 1 && bench.waiting == 2)
        bench.wait(milliseconds: 30_000)
        #expect(bench.waiting == 0 && bench.feed?.ledger.cursor == 0, "what waited is not behind the cursor")
        let committed = try #require(bench.group.commits.last?.first)
        let metadata = try PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        #expect(committed.offset == 4 && metadata.laggards.map(\.cursor) == [0])
        #expect(metadata.laggards[0].done.contains(.init(offset: 1, token: 0)), "what was superseded stays done")
    }

    @Test("A topic that has no credit left is not waited for")
    func noCredit() throws {
        let bench = CoalescingBench { $0.worker.maxUncommitted = 3 }
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 100
        try bench.bring((1, "score"), (1, "score"), (2, "score"))
        bench.wait(milliseconds: 20)
        #expect(bench.sent.isEmpty && bench.superseded == 1)
        try bench.bring((1, "score"), (3, "score"))
        bench.wait(milliseconds: 40)
        #expect(bench.sent == [2, 3] && bench.superseded == 2, "what came last was passed over")
        #expect(bench.waiting == 0)
    }

    @Test("Requests that wait when their partition is given back are left to its next owner", arguments: [true, false])
    func revoked(lost: Bool) throws {
        let bench = CoalescingBench()
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 100
        try bench.bring((1, "score"), (1, "score"))
        bench.wait(milliseconds: 20)
        let feed = try #require(bench.feed)
        bench.shard.revoke([CoalescingBench.place], lost: lost)
        bench.wait(milliseconds: 10_000)
        #expect(bench.sent.isEmpty && bench.waiting == 0 && bench.superseded == 1)
        #expect(feed.ledger.cursor == 1, "only what was superseded is done")
    }

    @Test("A stop leaves what waits to the next worker, too")
    func drained() throws {
        let bench = CoalescingBench { $0.worker.coalescingWindow = .seconds(30) }
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 20)
        let feed = try #require(bench.feed)
        _ = bench.shard.drain()
        bench.wait(milliseconds: 60_000)
        #expect(bench.sent.isEmpty && bench.waiting == 0)
        #expect(feed.ledger.cursor == 0)
    }

    @Test(
        "With a window a device gets one per key and window, the newest at its end; what comes later waits for the next"
    )
    func window() throws {
        let bench = CoalescingBench { $0.apps["com.example.news", default: .init()].coalescingWindow = .seconds(2) }
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 1900)
        try bench.bring((1, "score"), (2, "score"), (1, "other"))
        bench.wait(milliseconds: 80)
        #expect(bench.sent.isEmpty && bench.superseded == 1)
        bench.wait(milliseconds: 80)
        #expect(bench.sent == [1])
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 1700)
        #expect(bench.sent == [1] && bench.waiting == 3)
        bench.wait(milliseconds: 400)
        #expect(bench.sent == [1, 2, 3] && bench.waiting == 1, "the last one's window is the next")
    }

    @Test("While Redis is away the end of a window is asked for until it answers; no waiting request is lost")
    func redisAway() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis) { $0.worker.coalescingWindow = .seconds(2) }
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 0
        redis.answerWindows(with: 2000)
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 100)
        redis.isAway = true
        bench.wait(milliseconds: 60_000)
        #expect(bench.sent.isEmpty && bench.waiting == 1)
        redis.isAway = false
        redis.answerWindows(with: -1)
        bench.wait(milliseconds: 3000)
        #expect(bench.sent.isEmpty && bench.superseded == 1, "what Redis says then counts: a newer one was sent")
        #expect(bench.waiting == 0)
    }

    /// A shard with a window, which goes on without Redis after five seconds.
    private func goingOnWithoutRedis() -> (bench: CoalescingBench, redis: SimulatedRedis) {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis) {
            $0.worker.coalescingWindow = .seconds(2)
            $0.redis.whenAway = .send
            $0.redis.awayAfter = .seconds(5)
        }
        bench.group.cachedEnd = 0
        return (bench, redis)
    }

    @Test("Where sending goes on without Redis, a window that it does not answer for is the shard's own")
    func redisAwayGoesOn() throws {
        let (bench, redis) = goingOnWithoutRedis()
        defer { bench.shard.leave() }
        redis.isAway = true
        try bench.bring((1, "score"), (1, "score"))
        bench.wait(milliseconds: 6900)
        #expect(bench.sent.isEmpty && bench.superseded == 1)
        bench.wait(milliseconds: 300)
        #expect(bench.sent == [1])
    }

    @Test("While look-ups go on without Redis it is not asked for windows either, and is again when it is back")
    func windowsWhileRedisIsAway() throws {
        let (bench, redis) = goingOnWithoutRedis()
        defer { bench.shard.leave() }
        // A request that waits in a lane for a connection would hold up later ones.
        bench.gateway.isSilent = false
        redis.answerWindows(with: 2000)
        redis.isAway = true
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 8000)
        try bench.bring((2, "score"))
        bench.wait(milliseconds: 3000)
        #expect(bench.accepted == [1, 2])
        #expect(redis.windowQuestions == 0)

        redis.isAway = false
        bench.wait(milliseconds: 6000)
        // Its look-up is the probe.
        try bench.bring((3, ""))
        bench.wait(milliseconds: 100)
        try bench.bring((4, "score"))
        bench.wait(milliseconds: 100)
        #expect(bench.accepted == [1, 2, 3])
        #expect(bench.waiting == 1 && redis.windowQuestions == 1)
    }

    @Test("A request that Redis does not answer for is superseded by a newer one that is due before the answer")
    func answerComesLate() throws {
        let (bench, redis) = goingOnWithoutRedis()
        defer { bench.shard.leave() }
        redis.answerWindows(with: 2000)
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 1900)
        redis.isMute = true
        bench.wait(milliseconds: 300)
        #expect(bench.sent.isEmpty && bench.waiting == 1, "its window is over, and Redis was asked whether it is sent")
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 10_000)
        #expect(bench.sent == [1] && bench.superseded == 1 && bench.waiting == 0)
    }
}
