import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Messages between the group's consumer and the intake.
@Suite("The live reader")
struct LiveReaderTests {
    private typealias Bench = ShardBench

    @Test("A fetched batch that does not fit into one prepared batch is fed in parts, each record once")
    func parts() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        let tokens = UInt32(ShardLimits.notificationsPerBatch / 2 + 1)
        let request = PushSendRequest.with { request in
            for number in 0..<tokens {
                request.packedTokens += withUnsafeBytes(of: number.bigEndian) { Data($0) } + Data(count: 28)
            }
        }
        try bench.bring([(Bench.news, request), (Bench.news, request), (Bench.news, request)])
        bench.wait(milliseconds: 2000)
        #expect(!bench.shard.stages.live.hasLeftovers)
        #expect(bench.gateway.accepted(of: Bench.news).count == 3 * Int(tokens))
        #expect(bench.committed()?.offset == 3 && bench.committed()?.metadata == "3;")
    }

    @Test("A fetch that cannot be read is counted, and the records after it are sent")
    func corrupt() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.group.batches.append(.failed(.badMessage, at: 0, bench.place(0)))
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        #expect(bench.shard.report().counters.corruptFetches == 1)
        #expect(bench.lines.messages == ["fetched records are corrupt; fetching them again"])
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && bench.committed()?.offset == 1)
    }

    @Test("A small record does not keep a batch of which the rest was passed over", arguments: [true, false])
    func sparse(isSparse: Bool) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport]
        bench.gateway.halfDead = [Bench.news]
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (isSparse ? Bench.sport : Bench.news, Array(1...100)))
        weak let batch = bench.group.batches.last
        bench.wait(milliseconds: 100)
        #expect(bench.shard.stages.gateway.inFlightCount >= 1)
        #expect((batch == nil) == isSparse)
        bench.gateway.halfDead = []
    }

    @Test("A stretch that is near in offsets and long in bytes is left to the catch-up reader, as far as it is long")
    func longStretch() throws {
        let position = PositionMetadata.choose(
            [(Bench.hash(Bench.sport), 90)],
            liveNext: 110,
            limitBytes: 4096
        ) { _, _ in DoneRanges() }
        let bench = Bench(committed: 110, metadata: position.metadata)
        defer { bench.shard.leave() }
        let many = [UInt8](repeating: 7, count: 30_000)
        let large = Int64(ShardLimits.nearBytes / (32 * many.count)) + 1
        try bench.keep(Bench.sport, [1], at: 90)
        for offset in 91...90 + large { try bench.keep(Bench.news, many, at: offset) }
        try bench.keep(Bench.sport, [2], at: 109)
        bench.assign(0)
        #expect(bench.group.answers.map { $0.map(\.offset) } == [[90]])
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        try bench.bring((Bench.news, [50]))
        bench.wait(milliseconds: 2000)
        #expect(bench.group.seeks.map(\.offset) == [110] && bench.reader.begins.map(\.offset) == [91 + large])
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2] && bench.gateway.accepted(of: Bench.news) == [50])
        #expect(bench.committed()?.offset == 111 && bench.committed()?.metadata == "3;")
    }

    @Test("Messages fetched while partitions are given back are kept, and fed afterwards")
    func keptAtRevocation() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        // Something in flight that does not settle keeps the revocation going.
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0, 1)
        try bench.bring((Bench.sport, [1]), to: 0)
        bench.wait(milliseconds: 40)
        bench.shard.revoke([bench.place(0)], lost: false)
        try bench.bring((Bench.news, [2]), to: 1)
        bench.wait(milliseconds: 200)
        #expect(bench.group.revocations == 0 && bench.group.batches.isEmpty)
        #expect(bench.shard.stages.live.hasLeftovers && bench.gateway.accepted(of: Bench.news).isEmpty)
        bench.wait(milliseconds: 3000)
        #expect(bench.group.revocations == 1 && !bench.shard.stages.live.hasLeftovers)
        #expect(bench.gateway.accepted(of: Bench.news) == [2])
        #expect(bench.committed(1)?.offset == 1)
    }

    @Test("Messages fetched while the worker drains are left to the next owner")
    func leftAtDrain() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.halfDead = [Bench.sport]
        bench.assign(0)
        try bench.bring((Bench.sport, [1]))
        bench.wait(milliseconds: 40)
        _ = bench.shard.drain()
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 200)
        #expect(bench.group.batches.isEmpty && !bench.shard.stages.live.hasLeftovers)
        #expect(bench.gateway.accepted(of: Bench.news).isEmpty)
    }
}
