import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// The memory of accepted tokens that a topic has.
@Suite("The memory of accepted tokens")
struct AcceptedMemoryTests {
    private typealias Bench = ShardBench

    private static let bytes = AcceptedTokens.bytes(indexBits: 16)

    /// The bytes of the memory; nil: it is not made.
    private func bytes(of bench: Bench) -> Int? {
        if let lane = bench.streamLane(Bench.news) { return lane.acceptedTokenBytes }
        return bench.shard.stages.gateway.all.first { $0.topic.bundleID == Bench.news }?.binary.acceptedTokenBytes
    }

    private func usedBytes(of bench: Bench) -> Int { bench.shard.stages.group.memory.budget.usedBytes }

    @Test("The first acceptance behind a refusal makes it, and it counts; where nothing is accepted there is none")
    func made() throws {
        #expect(Self.bytes == 1 << 20)
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 >= 100 ? .invalidToken : nil }
        bench.assign(0)
        try bench.bring((Bench.news, [100]), (Bench.news, [101]), (Bench.news, [102]))
        bench.wait(milliseconds: 2000)
        #expect(bytes(of: bench) == nil && usedBytes(of: bench) < Self.bytes)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        #expect(bytes(of: bench) == Self.bytes && usedBytes(of: bench) >= Self.bytes)
    }

    @Test("When no token has been refused for long it is given back, and made again after the next refusal")
    func dropped() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 >= 100 ? .invalidToken : nil }
        bench.assign(0)
        for token in [100, 1] as [UInt8] {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: 1000)
        }
        #expect(bytes(of: bench) == Self.bytes)
        bench.wait(milliseconds: 120_000)
        #expect(bytes(of: bench) == nil && usedBytes(of: bench) == 0)
        for token in [2, 101, 3] as [UInt8] {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: 1000)
            #expect(bytes(of: bench) == (token == 3 ? Self.bytes : nil))
        }
    }

    @Test("Over HTTP/2 it counts as well, and is given back when no token has been refused for long")
    func streams() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token >= 100 ? .refuse(.deviceTokenNotForTopic) : .accept }
        bench.assign(0)
        for _ in 0..<2 {
            for token in [100, 1] as [UInt8] {
                try bench.bring((Bench.news, [token]))
                bench.wait(milliseconds: 1000)
            }
            #expect(bytes(of: bench) == Self.bytes && usedBytes(of: bench) >= Self.bytes)
            bench.wait(milliseconds: 120_000)
            #expect(bytes(of: bench) == nil && usedBytes(of: bench) == 0)
        }
    }

    @Test("Without room for it there is none, and everything is sent all the same")
    func noRoom() throws {
        let bench = Bench { $0.worker.shardMemoryBytes = 1 << 20 }
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { $0 >= 100 ? .invalidToken : nil }
        bench.assign(0)
        for token in [100, 1, 101, 2, 102, 3] as [UInt8] {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: 1000)
        }
        #expect(bytes(of: bench) == nil && bench.gateway.accepted(of: Bench.news) == [1, 2, 3])
        #expect(bench.committed()?.offset == 6)
    }
}
