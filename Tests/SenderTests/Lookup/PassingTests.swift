import BelfrySupport
import Foundation
import NIOEmbedded
import PushSchemas
import Testing

@testable import Sender
@testable import SimulatedServers

/// A shard whose Redis is away, of which some topics need nothing.
@Suite("Topics that need nothing of Redis")
struct PassingTests {
    private typealias Bench = ShardBench

    private static let broadcast = PushSendRequest.with {
        $0.channel = "dHN0LXNyY2gtY2hubA=="
        $0.expiration = 0
        $0.priority = 10
    }

    private static func request(to token: UInt8) -> PushSendRequest {
        .with { $0.packedTokens = Data(repeating: token, count: 32) }
    }

    private func broadcasts(of bench: Bench) -> Int {
        bench.service.requests.count { $0.value(of: ":path").hasPrefix("/4/broadcasts/") }
    }

    @Test("They go on while others wait for it; those lag, and come in order when it is back")
    func pass() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = Bench(on: eventLoop, over: .http2, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        redis.isAway = true
        for token in 1...60 as ClosedRange<UInt8> {
            try bench.bring([(Bench.news, Self.request(to: token)), (Bench.sport, Self.broadcast)])
            bench.wait(milliseconds: 100)
        }
        bench.wait(milliseconds: 5000)
        #expect(broadcasts(of: bench) == 60)
        #expect(bench.service.tokens(of: Bench.news).isEmpty)
        #expect(bench.shard.stages.lookup.count <= ShardLimits.passedBatches)
        redis.isAway = false
        bench.wait(milliseconds: 20_000)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...60))
        #expect(broadcasts(of: bench) == 60 && bench.committed()?.offset == 120)
        #expect(bench.shard.stages.lookup.count == 0 && bench.shard.stages.lookup.held.isEmpty)
    }

    @Test("Where all wait for it the partitions are paused, and no topic lags")
    func allWait() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = Bench(on: eventLoop, over: .http2, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        redis.isAway = true
        for token in 1...60 as ClosedRange<UInt8> {
            try bench.bring((token.isMultiple(of: 2) ? Bench.news : Bench.sport, [token]))
            bench.wait(milliseconds: 100)
        }
        #expect(bench.shard.stages.lookup.count == ShardLimits.liveBatches && bench.service.requests.isEmpty)
        let feeds = bench.shard.stages.group.active.flatMap(\.feeds.values)
        #expect(!feeds.isEmpty && feeds.allSatisfy(\.ledger.isLive))
        redis.isAway = false
        bench.wait(milliseconds: 20_000)
        for (topic, parity) in [(Bench.news, 0), (Bench.sport, 1)] as [(String, UInt8)] {
            #expect(bench.service.accepted(of: topic) == (1...60).filter { $0 % 2 == parity })
        }
    }
}
