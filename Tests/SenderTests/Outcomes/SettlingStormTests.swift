import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Hundreds of thousands of notifications that settle in one callback.
@Suite("Storms of settling")
struct SettlingStormTests {
    private typealias Bench = ShardBench

    private static let records = 25
    private static let tokens: UInt32 = 20_000
    /// Publications in one turn.
    private static let slice = 1024

    /// A shard that has taken in half a million notifications, of which none is answered.
    private static func bench() throws -> Bench {
        let bench = Bench { configuration in
            configuration.worker.maxUncommitted = 1_000_000
            configuration.worker.confirmationWindow = .seconds(3600)
        }
        bench.gateway.silent = [Bench.news]
        bench.assign(0)
        let request = PushSendRequest.with { request in
            for number in 0..<tokens {
                request.packedTokens += withUnsafeBytes(of: number.bigEndian) { Data($0) } + Data(count: 28)
            }
        }
        for _ in 0..<records {
            try bench.bring([(Bench.news, request)])
            bench.wait(milliseconds: 40)
        }
        return bench
    }

    private static func feed(_ bench: Bench) throws -> AppFeed {
        try #require(bench.shard.stages.group.assigned[0]?.feeds.values.first)
    }

    private static func settleAll(_ bench: Bench, of feed: AppFeed) {
        for record in 0..<UInt32(records) {
            for token in 0..<tokens {
                bench.shard.stages.outcomes.settle(
                    NotificationReference(assignment: feed.number, record: record, token: token),
                    .unknown
                )
            }
        }
    }

    @Test("Half a million outcomes are handed over in slices: the producer is not overrun, and commits go on")
    func slices() throws {
        let bench = try Self.bench()
        defer { bench.shard.leave() }
        let feed = try Self.feed(bench)
        #expect(feed.ledger.frontier.uncommitted == Self.records * Int(Self.tokens))
        bench.producer.room = 500
        let commits = bench.group.commits.count
        Self.settleAll(bench, of: feed)
        #expect(bench.producer.attempts == 501, "all that follow wait behind the first that found no room")
        #expect(bench.shard.stages.outcomes.unacknowledged == Self.records * Int(Self.tokens))
        // The broker acknowledges what there is in each turn, at least in each tick of 20 ms.
        bench.wait(milliseconds: 2000)
        let turns = 100
        #expect(bench.producer.records.count > 50 * 500)
        #expect(bench.producer.attempts <= (turns + 2) * 501)
        #expect(bench.group.commits.count > commits)
        #expect(try bench.laggards()[Bench.hash(Bench.news)] ?? 0 >= 1, "the first record is done, and committed")
    }

    @Test("One callback hands over no more than a slice, though the producer has room for all")
    func slice() throws {
        let bench = try Self.bench()
        defer { bench.shard.leave() }
        bench.producer.isSilent = true
        Self.settleAll(bench, of: try Self.feed(bench))
        #expect((1...Self.slice).contains(bench.producer.attempts))
        bench.shard.turn()
        #expect((1...2 * Self.slice).contains(bench.producer.attempts))
    }
}
