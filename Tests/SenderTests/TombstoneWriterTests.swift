import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import Sender

@Suite("The memory of refused tokens")
struct TombstoneWriterTests {
    private typealias Bench = ShardBench

    private static let bytesOfOne = ShardLimits.notificationBytes + 32

    /// A shard whose gateway has accepted one token and called another one invalid.
    private func afterRefusal() throws -> Bench {
        let bench = Bench()
        bench.gateway.answers[Bench.news] = { $0 == 9 ? .invalidToken : nil }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 9]))
        bench.wait(milliseconds: 1000)
        return bench
    }

    private func usedBytes(of bench: Bench) -> Int { bench.shard.stages.group.memory.budget.usedBytes }

    @Test("A refusal that waits to be believed counts towards the shard's memory, until its tombstone is written")
    func believed() throws {
        let bench = try afterRefusal()
        defer { bench.shard.leave() }
        #expect(usedBytes(of: bench) == Self.bytesOfOne, "the record is done")
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.shard.addTopic(Bench.news).health.trust.through == 1)
        #expect(usedBytes(of: bench) == 0)
    }

    @Test("A refusal that is not believed gives its memory back")
    func notBelieved() throws {
        let bench = try afterRefusal()
        defer { bench.shard.leave() }
        bench.wait(milliseconds: 31_000)
        #expect(try bench.shard.addTopic(Bench.news).health.trust.distrusted == 1)
        #expect(usedBytes(of: bench) == 0)
    }
}
