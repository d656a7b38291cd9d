import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// Memory and connections of a shard whose service over HTTP/2 does not answer.
@Suite("A provider API that is silent or away")
struct StreamMemoryTests {
    private typealias Bench = ShardBench

    @Test("A silent service holds up no more than its limit and the record that reached it, and the topic falls behind")
    func silent() throws {
        let limit = 100_000
        // Of one token.
        let oneRecord = 1000
        let bench = Bench(over: .http2) {
            $0.worker.shardMemoryBytes = 2 * limit
            $0.worker.topicMemoryBytes = limit
        }
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .wait }
        bench.assign(0)
        for record in 0..<1000 {
            try bench.bring((Bench.news, [UInt8(1 + record % 250)]))
            if record % 50 == 0 { bench.wait(milliseconds: 100) }
            #expect(bench.shard.stages.group.memory.budget.usedBytes < limit + oneRecord)
        }
        for _ in 0..<50 {
            bench.wait(milliseconds: 200)
            #expect(bench.shard.stages.group.memory.budget.usedBytes < limit + oneRecord)
        }
        #expect(bench.committed()?.offset == 1000)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 0])
        let lane = try #require(bench.streamLane(Bench.news))
        #expect(lane.inFlightCount + lane.waitingCount < 1000)
    }

    @Test("The tokens of a record share its body in memory")
    func sharedBody() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .wait }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...200)))
        bench.wait(milliseconds: 500)
        let lane = try #require(bench.streamLane(Bench.news))
        #expect(lane.inFlightCount == 200 && lane.keptContents == 1)
        #expect(Set(bench.service.requests.map(\.body)).count == 1)
    }

    @Test("A service that cannot be reached is tried within the budget of connections, and for ever")
    func unreachable() throws {
        let perMinute = 20
        let bench = Bench(over: .http2) { $0.worker.connectionsPerMinute = perMinute }
        defer { bench.shard.leave() }
        bench.service.isUnreachable = true
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        var attempts = 0
        for minute in 0..<10 {
            bench.wait(milliseconds: 60_000)
            let made = bench.service.attempts - attempts
            // The first one is not charged.
            #expect(made > 0 && made <= perMinute + (minute == 0 ? 1 : 0), "minute \(minute)")
            attempts = bench.service.attempts
        }
        bench.service.isUnreachable = false
        bench.wait(milliseconds: 120_000)
        #expect(bench.service.accepted(of: Bench.news) == [1])
    }
}
