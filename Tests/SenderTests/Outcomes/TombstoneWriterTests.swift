import NIOEmbedded
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import RedisClient
@testable import Sender
@testable import SimulatedServers
@testable import TokenState

@Suite("Refused tokens and their tombstones")
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

    /// The times of the tombstones for a token that was refused a good second before it was believed.
    ///
    /// - Parameters:
    ///   - clock: that of the worker at the refusal, UNIX seconds.
    ///   - later: the same when the refusal is believed; nil: it went on.
    ///   - witness: that of Redis when it is asked, UNIX seconds.
    ///   - corrected: that of the worker when writing it has failed; nil: it does not fail. If it does, it does twice.
    private func tombstones(
        clock: Int64,
        later: Int64? = nil,
        witness: Int64,
        corrected: Int64? = nil
    ) throws -> [Int] {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = Bench(on: eventLoop, redis: redis)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: clock)
        redis.clock = witness * 1000
        bench.gateway.answers[Bench.news] = { $0 == 9 ? .invalidToken : nil }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 9]))
        bench.wait(milliseconds: 1000)
        bench.setClock(unixSeconds: later ?? clock + 2)
        let lost = RedisError.maybeExecuted(reason: "the connection was lost")
        if corrected != nil { redis.refusals[.calls(TokenScripts.tombstone)] = [lost, lost] }
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.shard.addTopic(Bench.news).health.trust.through == 1)
        if let corrected {
            bench.setClock(unixSeconds: corrected)
            bench.wait(milliseconds: 5000)
        }
        return redis.tombstones
    }

    @Test("A tombstone has the time of the refusal, though Redis' clock is ahead")
    func dated() throws {
        #expect(try tombstones(clock: 1_500_000_000, witness: 1_500_000_003) == [1_500_000_000])
        #expect(try tombstones(clock: 1_500_000_000, witness: 1_600_000_000) == [1_500_000_000])
    }

    @Test("Where the worker's clock is ahead a tombstone has the time of the refusal by Redis' clock")
    func clockAhead() throws {
        let times = try tombstones(clock: 1_600_000_000, witness: 1_500_000_010)
        #expect(times == [1_500_000_008] || times == [1_500_000_009])
    }

    @Test("Where the worker's clock was ahead and is set back, that time counts, though Redis' clock is ahead")
    func clockSetBack() throws {
        let times = try tombstones(clock: 1_600_000_000, later: 1_500_000_010, witness: 1_700_000_000)
        #expect(times == [1_500_000_008] || times == [1_500_000_009])
    }

    @Test("A tombstone that is written again is dated again: by a clock that was set back meanwhile, and never later")
    func datedAgain() throws {
        let ahead = Int64(1_600_000_000)
        let times = try tombstones(clock: ahead, witness: 1_700_000_000, corrected: 1_500_000_010)
        #expect(times.count == 3 && times.first == 1_600_000_000 && (times.last ?? .max) <= 1_500_000_010)
        let again = try tombstones(clock: ahead, witness: 1_700_000_000, corrected: 1_650_000_000)
        #expect(again == [1_600_000_000, 1_600_000_000, 1_600_000_000])
    }

    /// Without the memory of accepted tokens.
    private func usedBytes(of bench: Bench) -> Int {
        let accepted = bench.shard.stages.gateway.all.reduce(0) { $0 + ($1.binary.acceptedTokenBytes ?? 0) }
        return bench.shard.stages.group.memory.budget.usedBytes - accepted
    }

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
