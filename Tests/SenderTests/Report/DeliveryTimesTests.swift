import BelfrySupport
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// The measured way of notifications.
@Suite("Times of notifications on their way")
struct DeliveryTimesTests {
    private typealias Bench = ShardBench

    private func series(
        of bench: Bench,
        _ transport: EnvironmentSettings.Transport,
        _ topicClass: DeliveryTimes.AppClass = .live
    ) throws -> DeliveryTimes.Series {
        let all = bench.shard.report().times.series
        return try #require(all.first { $0.transport == transport && $0.topicClass == topicClass })
    }

    @Test("Each way has its own series, and no other is touched")
    func places() {
        var times = DeliveryTimes()
        times.noteHandOver(2, age: .seconds(1), over: .http2, .lagging)
        times.noteSettled(3, after: .seconds(2), over: .binary, .live)
        for series in times.series {
            let isFirst = series.transport == .http2 && series.topicClass == .lagging
            let isSecond = series.transport == .binary && series.topicClass == .live
            #expect(series.handedOver.count == (isFirst ? 2 : 0) && series.settled.count == (isSecond ? 3 : 0))
        }
    }

    @Test("Every notification is measured once: from its record's timestamp to the gateway, and on to its outcome")
    func binary() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_010)
        bench.publishedAt = 1_700_000_004_000
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.wait(milliseconds: 1000)
        let series = try series(of: bench, .binary)
        #expect(series.handedOver.count == 3 && series.handedOver.sumSeconds == 18)
        #expect(series.settled.count == 3)
        // The window of silence is 300 ms, and the shard looks at it every tick.
        #expect(series.settled.sumSeconds >= 0.9 && series.settled.sumSeconds < 3)
        #expect(try self.series(of: bench, .http2).handedOver.count == 0)
        #expect(bench.shard.report().topics.first?.counters.accepted == 3)
    }

    @Test("Over HTTP/2 each answer is measured by itself")
    func streams() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_010)
        bench.publishedAt = 1_700_000_009_000
        bench.service.reply = { $0.token == 1 ? .accept : .wait }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2]))
        bench.wait(milliseconds: 500)
        let connections = bench.shard.report().connections.map { $0.counts }
        #expect(connections == [[.open: 1]])
        bench.wait(milliseconds: 1500)
        bench.service.peers[0].answerAll()
        bench.wait(milliseconds: 100)
        let series = try series(of: bench, .http2)
        #expect(series.handedOver.count == 2 && series.handedOver.sumSeconds == 2)
        #expect(series.settled.count == 2)
        // One at once, the other after two seconds.
        #expect(series.settled.sumSeconds >= 1.9 && series.settled.sumSeconds < 2.2)
        #expect(bench.shard.report().topics.first?.counters.accepted == 2)
    }

    @Test("Records without a timestamp have no age")
    func noTimestamp() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        let series = try series(of: bench, .binary)
        #expect(series.handedOver.count == 0 && series.settled.count == 1)
    }

    @Test("A lagging topic tells its cursors and the age of the oldest, and what waits for it while it works")
    func lagging() throws {
        let bench = Bench { $0.worker.maxUncommitted = 4 }
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.sport]
        bench.gateway.timeout = .seconds(5)
        bench.assign(0)
        for token in 1...10 as ClosedRange<UInt8> {
            bench.publishedAt = 1_700_000_000_000 + Int64(token) * 1000
            try bench.bring((Bench.sport, [token]))
        }
        bench.wait(milliseconds: 2000)
        bench.group.cachedEnd = 10
        var report = bench.shard.report()
        let topic = try #require(report.topics.first)
        #expect(topic.lagRecords == 10 && topic.cursors == [.init(partition: 0, offset: 0)])
        #expect(topic.cursorPublishedAt == 1_700_000_001_000)
        #expect(topic.oldestUnconfirmed == report.oldestUnconfirmed && topic.oldestUnconfirmed != nil)
        #expect(report.partitions.map(\.waitingRecords) == [6], "of ten four were taken in")

        bench.gateway.silent = []
        bench.wait(milliseconds: 20_000)
        report = bench.shard.report()
        #expect(report.topics.first?.cursors == [] && report.topics.first?.cursorPublishedAt == nil)
        #expect(report.partitions.map(\.waitingRecords) == [0])
        #expect(try series(of: bench, .binary, .lagging).handedOver.count > 0)
    }
}
