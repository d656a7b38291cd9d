import APNsProtocol
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// A topic's probe, when it has to wait or its notifications had a history.
@Suite("Probes of a topic that does not work")
struct ProbeLeaseTests {
    private typealias Bench = ShardBench

    @Test("A probe that waits for the connection budget does not fail meanwhile, and keeps its place in line")
    func waitsForBudget() throws {
        let bench = Bench {
            $0.worker.connectionsPerMinute = 1
            $0.worker.parkAfter = .seconds(5)
        }
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        let health = try bench.shard.addTopic(Bench.news).health
        bench.wait(milliseconds: 5000)
        // The first connection is free, the second one has used up the minute.
        #expect(bench.gateway.attempts.count == 2)
        var stopped = 0
        for _ in 0..<2000 {
            bench.wait(milliseconds: 20)
            if case .stopped = health.state { stopped += 1 }
        }
        #expect(stopped == 0 && bench.gateway.attempts.count == 2)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 30_000)
        #expect(bench.gateway.attempts.count == 3 && bench.gateway.accepted(of: Bench.news) == [1])
        #expect(health.state == .works)
    }

    @Test("A presumed notification that is refused late for its content leaves nothing open: its topic is probed again")
    func lateStatus() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.offsets(.presumed) == [0])
        let lane = try #require(bench.shard.stages.gateway.all.first?.binary.ownLanes.first)
        lane.connectionAnswered(
            attempt: lane.attempt,
            response: ErrorResponse(status: .invalidPayloadSize, identifier: 1)
        )
        bench.wait(milliseconds: 1000)

        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.news) == "topic-refused")
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 2] && bench.reason(Bench.news) == nil)
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
        #expect(try bench.offsets(.presumed) == [0, 1])
    }
}
