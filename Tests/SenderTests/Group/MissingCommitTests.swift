import BelfrySupport
import NIOEmbedded
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Partitions of which the group has no commit: fresh ones, and those whose commits are gone.
@Suite("A worker without a commit")
struct MissingCommitTests {
    private typealias Bench = ShardBench

    private let mark = Array("m:{push.requests:0}:position".utf8)

    private func bench(
        isMarked: Bool = false,
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) -> (Bench, SimulatedRedis) {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        if isMarked { redis.server[mark] = "formerly 70" }
        let bench = Bench(on: eventLoop, redis: redis, committed: KafkaOffset.none, change)
        bench.group.end = 3
        return (bench, redis)
    }

    /// The log of a partition that begins at 0.
    private func fill(_ bench: Bench) throws {
        for offset in 0..<3 as Range<Int64> { try bench.keep(Bench.news, [UInt8(1 + offset)], at: offset) }
        bench.group.batches.append(KafkaBatch(bench.reader.records))
    }

    @Test("A fresh partition starts at its beginning, and its start is committed and marked before anything is sent")
    func fresh() throws {
        let (bench, redis) = bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[0]])
        bench.wait(milliseconds: 40)
        #expect(bench.committed()?.offset == 0 && bench.committed()?.metadata == "3;")
        bench.wait(milliseconds: 40)
        #expect(redis.server.keys == [mark] && redis.server[mark] == "belfry-worker 0")
        try fill(bench)
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2, 3])
        #expect(bench.shard.report().missingCommits(ofShard: 0) == nil)
    }

    @Test("A partition that was read before is not sent again: it stands with an obstacle until its offset is set")
    func expired() throws {
        let (bench, _) = bench(isMarked: true)
        defer { bench.shard.leave() }
        bench.assign(0)
        #expect(bench.shard.stages.group.hasJoined && bench.group.paused == [bench.place(0)])
        let alarm = "group has no commit of a partition that was read before; it stands until its offset is set"
        #expect(bench.lines.messages == [alarm])
        #expect(bench.lines.metadata(of: "partition was read before").map { $0["mark"] } == ["formerly 70"])
        try fill(bench)
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.accepted.isEmpty && bench.group.commits.isEmpty && bench.group.seeks.isEmpty)
        #expect(bench.shard.report().partitions.map(\.standsFor) == [.noCommit])
        let obstacle =
            "shard 0: the group has no commit of partition 0; it was read before: "
            + "use belfry offsets set, or choose worker.start"
        #expect(WorkerRole.obstacles([bench.shard.report()]).map(\.text) == [obstacle])

        bench.group.committedOffset = 2
        bench.wait(milliseconds: 11_000)
        #expect(bench.group.seeks.map(\.offset) == [2] && bench.group.paused.isEmpty)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [3])
        #expect(WorkerRole.obstacles([bench.shard.report()]).isEmpty)
    }

    @Test("An operator chooses where it starts", arguments: [FirstStartPolicy.beginning, .end])
    func chosen(policy: FirstStartPolicy) {
        let (bench, _) = bench(isMarked: true) { $0.worker.start = policy }
        defer { bench.shard.leave() }
        bench.assign(0)
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[policy == .end ? 3 : 0]])
    }

    @Test("While Redis does not tell of the mark a partition stands, and holds up no other")
    func redisAway() throws {
        let (bench, redis) = bench()
        defer { bench.shard.leave() }
        redis.isAway = true
        bench.group.committed[bench.place(1)] = KafkaPartitionOffset(
            bench.place(1),
            offset: 2,
            metadata: "3;"
        )
        bench.assign(0, 1)
        #expect(bench.group.answers.map { $0.map(\.partition) } == [[0, 1]])
        #expect(bench.group.paused == [bench.place(0)])
        let obstacle =
            "shard 0: the group has no commit of partition 0; "
            + "Redis has not told yet whether it was read before"
        #expect(bench.shard.report().missingCommits(ofShard: 0)?.text == obstacle)
        redis.isAway = false
        bench.wait(milliseconds: 3000)
        #expect(bench.group.seeks.map(\.offset) == [0] && bench.group.paused.isEmpty)
    }
}
