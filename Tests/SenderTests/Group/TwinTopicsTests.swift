import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Two bundles whose names have one hash where there is no salt: they share a feed, and nothing else.
@Suite("Topics with one hash")
struct TwinTopicsTests {
    private typealias Bench = ShardBench

    private static let first = "com.example.twin540122"
    private static let second = "com.example.twin618045"

    private func bringBoth(to bench: Bench) throws {
        try #require(Bench.hash(Self.first) == Bench.hash(Self.second))
        bench.assign(0)
        try bench.bring((Self.first, [1]), (Self.second, [2]), (Self.first, [3]), (Self.second, [4]))
    }

    @Test("Each is sent over its own connection, under its own certificate")
    func ownConnections() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        try bringBoth(to: bench)
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Self.first) == [1, 3])
        #expect(bench.gateway.accepted(of: Self.second) == [2, 4])
        #expect(try bench.outcomes().map(\.bundleID).sorted() == [Self.first, Self.first, Self.second, Self.second])
        #expect(bench.committed()?.offset == 4 && bench.committed()?.metadata == "3;")
    }

    @Test("While one waits for its certificate the other waits behind it; then both go on, and nothing is lost")
    func waitForEachOther() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Self.second]
        try bringBoth(to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted.map(\.token) == [1] && !bench.gateway.attempts.contains(Self.second))
        #expect(try bench.laggards() == [Bench.hash(Self.first): 1])
        #expect(bench.reader.begins.isEmpty, "what may not be fed is not read")

        bench.gateway.missing = []
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Self.first) == [1, 3])
        #expect(bench.gateway.accepted(of: Self.second) == [2, 4])
        #expect(bench.committed()?.offset == 4 && bench.committed()?.metadata == "3;")
    }

    private static let salt = AppSalt(0xFEED_5A17)

    @Test("Under a salt the two have cursors of their own: one is sent while the other waits, and not again elsewhere")
    func salted() throws {
        let bench = Bench(salt: Self.salt)
        defer { bench.shard.leave() }
        bench.gateway.missing = [Self.second]
        try bringBoth(to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Self.first) == [1, 3] && bench.gateway.accepted.count == 2)
        let committed = try #require(bench.committed())
        #expect(committed.offset == 4 && committed.metadata.hasPrefix("4;"))
        #expect(try bench.laggards() == [Bench.hash(Self.second, Self.salt): 1])

        // Another shard would choose another salt, and takes the partition's.
        let next = Bench(committed: 4, metadata: committed.metadata, salt: AppSalt(77))
        defer { next.shard.leave() }
        for offset in 0..<4 as Range<Int64> {
            try next.keep(offset.isMultiple(of: 2) ? Self.first : Self.second, [UInt8(offset) + 1], at: offset)
        }
        next.assign(0)
        next.group.batches.append(KafkaBatch(Array(next.reader.records.dropFirst())))
        try next.bring((Self.first, [5]))
        next.wait(milliseconds: 5000)
        #expect(next.gateway.accepted(of: Self.first) == [5], "what was done is not sent again")
        #expect(next.gateway.accepted(of: Self.second) == [2, 4])
        #expect(next.committed()?.offset == 5 && next.committed()?.metadata.count == "4;01234567890;".count)
        #expect(next.committed()?.metadata == String(committed.metadata.prefix(14)))
    }

    @Test("Names without a salt keep their meaning until none is left; the next assignment has one")
    func fromEarlierVersion() throws {
        let position = PositionMetadata.choose(
            [(Bench.hash(Bench.news), 1)],
            liveNext: 4,
            limitBytes: 4096
        ) { _, _ in DoneRanges() }
        let bench = Bench(committed: 4, metadata: position.metadata, salt: Self.salt)
        defer { bench.shard.leave() }
        for offset in 0..<4 as Range<Int64> { try bench.keep(Bench.news, [UInt8(offset) + 1], at: offset) }
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(Array(bench.reader.records.dropFirst())))
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.news) == [2, 3, 4])
        try bench.bring((Bench.news, [5]))
        bench.wait(milliseconds: 5000)
        #expect(bench.committed()?.offset == 5 && bench.committed()?.metadata == "3;")

        let next = Bench(committed: 5, salt: Self.salt)
        defer { next.shard.leave() }
        next.assign(0)
        try next.bring((Bench.news, [6]))
        next.wait(milliseconds: 5000)
        #expect(next.gateway.accepted(of: Bench.news) == [6])
        let metadata = try PositionMetadata(decoding: next.committed()?.metadata ?? "", committedOffset: 6)
        #expect(metadata.salt == Self.salt && metadata.laggards.isEmpty)
    }

    @Test("One that is given up becomes dead letters, the other is sent")
    func givenUp() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Self.second]
        bench.gateway.givenUp = [Self.second]
        try bringBoth(to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Self.first) == [1, 3] && bench.gateway.accepted(of: Self.second).isEmpty)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("source-offset") } == ["1", "3"])
        #expect(bench.committed()?.offset == 4 && bench.committed()?.metadata == "3;")
    }

    @Test("One that stops makes the other repeat at most; when it works again both have been sent, in order")
    func oneStops() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Self.second] = { _ in .missingTopic }
        try bringBoth(to: bench)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Self.second).isEmpty)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 20_000)
        var seen: Set<UInt8> = []
        #expect(bench.gateway.accepted(of: Self.first).filter { seen.insert($0).inserted } == [1, 3])
        #expect(bench.gateway.accepted(of: Self.second) == [2, 4])
        #expect(bench.committed()?.offset == 4 && bench.committed()?.metadata == "3;")
    }

    @Test("When their partition is gone, nothing of either is sent any more")
    func lost() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Self.first, Self.second]
        bench.gateway.timeout = .seconds(2)
        try bringBoth(to: bench)
        bench.wait(milliseconds: 1000)
        #expect(Set(bench.gateway.attempts) == [Self.first, Self.second])
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.gateway.silent = []
        bench.wait(milliseconds: 60_000)
        #expect(bench.gateway.accepted.isEmpty && bench.gateway.attempts.count == 2)
    }
}
