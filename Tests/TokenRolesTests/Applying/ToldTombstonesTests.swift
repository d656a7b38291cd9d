import NIOCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

@Suite("What an applier tells push.tombstones")
struct ToldTombstonesTests {
    private static let revived = TokenFacts(registeredAt: 7, tombstonedAt: 0, reason: .none, wasRevived: true)
    /// It died while its revival was on the way to the broker.
    private static let dead = TokenFacts(registeredAt: 7, tombstonedAt: 9, reason: .feedback, wasRevived: false)

    @Test("Behind a revival a death that overtook it is told again: compaction keeps the last record alone")
    func overtakenRevival() throws {
        let bench = ApplierBench()
        defer { bench.end() }
        bench.facts["b"] = [Self.revived, Self.dead]
        bench.member.publish("a", "b")
        bench.member.give(0)
        bench.pass(.seconds(2))
        let told = try bench.told()
        #expect(told.map(\.tombstonedAt) == [0, 9])
        #expect(told.map(\.registeredAt) == [7, 7])
        #expect(bench.calls == 3 && bench.applier.counters.applied == 2, "a question is no change")
        #expect(bench.committed == [0: 2])
    }

    @Test("A revival is not committed before Redis has said that it still holds")
    func revivalInDoubt() {
        let bench = benchWithRevival()
        defer { bench.end() }
        bench.redis.isAway = true
        bench.producer.isSilent = false
        bench.pass(.minutes(1))
        #expect(bench.calls > 1 && bench.commits.isEmpty)
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(bench.committed == [0: 1])
        #expect(bench.tombstones.count == 1 && bench.applier.counters.applied == 1)
    }

    @Test(
        "A revival that is told late, when its partition has gone, is looked after all the same",
        arguments: [false, true]
    )
    func revivalGivenBack(isRedisAway: Bool) throws {
        let bench = benchWithRevival()
        defer { bench.end() }
        bench.facts["b"] = [Self.dead]
        bench.member.takeBack(0, lost: true)
        bench.pass(.seconds(5))
        #expect(bench.member.revocations == 1 && bench.calls == 1)
        bench.redis.isAway = isRedisAway
        bench.producer.isSilent = false
        bench.pass(.seconds(5))
        bench.redis.isAway = false
        bench.pass(.seconds(5))
        #expect(try bench.told().map(\.tombstonedAt) == [0, 9])
        #expect(bench.commits.isEmpty)
    }

    /// An applier that has told of a revival, to a broker that does not answer.
    private func benchWithRevival() -> ApplierBench {
        let bench = ApplierBench()
        bench.facts["b"] = [Self.revived]
        bench.producer.isSilent = true
        bench.member.publish("b")
        bench.member.give(0)
        bench.pass()
        #expect(bench.changed == ["b"] && bench.tombstones.count == 1)
        return bench
    }
}

extension ApplierBench {
    /// The records of push.tombstones, in order.
    fileprivate func told() throws -> [PushTombstone] {
        try tombstones.map { try PushTombstone(serializedBytes: $0) }
    }
}
