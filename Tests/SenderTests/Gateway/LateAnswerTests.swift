import APNsProtocol
import PushSchemas
import Testing

@testable import Sender
@testable import SimulatedServers

@Suite("Answers that come after a notification was presumed")
struct LateAnswerTests {
    private typealias Bench = ShardBench

    /// Three notifications, presumed, whose outcomes the broker has not acknowledged.
    private func presumed() throws -> (Bench, GatewayLane) {
        let bench = Bench()
        bench.assign(0)
        bench.producer.isSilent = true
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.outcomes().map(\.kind) == [.presumed, .presumed, .presumed])
        return (bench, try #require(bench.shard.stages.gateway.all.first?.binary.ownLanes.first))
    }

    private func answer(_ lane: GatewayLane, _ status: APNsStatus, _ identifier: UInt32) {
        lane.connectionAnswered(attempt: lane.attempt, response: ErrorResponse(status: status, identifier: identifier))
    }

    /// The numbers of outcomes that are published and counted.
    private func expectThreePresumed(_ bench: Bench) throws {
        #expect(try bench.outcomes().map(\.kind) == [.presumed, .presumed, .presumed])
        let counted = bench.shard.report().counters.outcomes
        #expect(OutcomeKind.allCases.filter { counted[$0] > 0 } == [.presumed] && counted[.presumed] == 3)
        bench.producer.isSilent = false
        bench.wait(milliseconds: 5000)
        #expect(try bench.outcomes().map(\.kind) == [.presumed, .presumed, .presumed])
        #expect(bench.shard.report().counters.outcomes == counted)
        #expect(bench.producer.records(of: "push.dead-letters").isEmpty)
        #expect(bench.committed()?.offset == 1)
    }

    @Test(
        "Before the broker has the outcome changes it no more than after that, and is counted once",
        arguments: [APNsStatus.invalidToken, .invalidPayloadSize, .processingError]
    )
    func once(status: APNsStatus) throws {
        let (bench, lane) = try presumed()
        defer { bench.shard.leave() }
        answer(lane, status, 2)
        bench.wait(milliseconds: 5000)
        let counters = try #require(bench.shard.report().topics.first).counters
        // The one behind the refused one, and one that is tried again, was not accepted after all.
        #expect(counters.presumedWrong == (status == .processingError ? 2 : 1))
        #expect(counters.resent == counters.presumedWrong)
        try expectThreePresumed(bench)
    }

    @Test("Once its partition is gone nothing presumed wrongly is sent again, though its topic was fed anew before")
    func leaves() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.wait(milliseconds: 1000)
        let lane = try #require(bench.shard.stages.gateway.all.first?.binary.ownLanes.first)
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(2)
        answer(lane, .processingError, 1)
        try bench.bring((Bench.news, [4]))
        bench.wait(milliseconds: 1000)
        #expect(lane.machine.waitingCount == 4)
        bench.pull(.pause)
        bench.wait(milliseconds: 5000)
        #expect(lane.machine.log.liveCount(in: lane.machine.sentEnd..<lane.machine.log.tail) == 3)
        let feed = try #require(bench.shard.stages.group.active.first?.sortedFeeds.first)
        #expect(feed.numbers.count == 2, "the former one's notifications are to be sent")

        bench.shard.revoke([bench.place(0)], lost: true)
        bench.gateway.silent = []
        bench.pull()
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2, 3], "once")
    }

    @Test("Two of them in a row give no notification a second outcome")
    func twice() throws {
        let (bench, lane) = try presumed()
        defer { bench.shard.leave() }
        answer(lane, .processingError, 1)
        bench.wait(milliseconds: 2000)
        answer(lane, .processingError, 1)
        bench.wait(milliseconds: 2000)
        try expectThreePresumed(bench)
    }
}
