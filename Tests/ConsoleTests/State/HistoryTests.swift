import PipelineCore
import Testing

@testable import Console

/// The last hour in slots.
struct HistoryTests {
    private var history = History()
    private var now = MonotonicTime(nanoseconds: 0)

    private mutating func tick(after seconds: Int, _ gauges: History.Gauges? = History.Gauges()) {
        now = now + .seconds(seconds)
        history.tick(gauges, now: now)
    }

    @Test("A slot holds what grew while it was open, and the gauges at its end")
    mutating func slots() {
        tick(after: 0)
        history.add(.init(counts: ["sent": 3]))
        tick(after: 4)
        #expect(history.closed == 0)
        history.add(.init(counts: ["sent": 4]))
        tick(after: 1, History.Gauges(waitingRecords: 9))
        #expect(Array(history.all) == [.init(counts: ["sent": 7], gauges: .init(waitingRecords: 9))])
        tick(after: 5, nil)
        #expect(history.closed == 2 && history.all.last == History.Slot())
    }

    @Test("Time without a look at the fleet is a gap, and the slots stay in step")
    mutating func gap() {
        tick(after: 0)
        tick(after: 17)
        #expect(history.closed == 3)
        #expect(history.all.map { $0.gauges != nil } == [false, false, true])
        tick(after: 3)
        #expect(history.closed == 4)
    }

    @Test("An hour is kept and no more, however late the next look comes")
    mutating func bounded() {
        tick(after: 0)
        for _ in 0..<History.slots + 10 {
            history.add(.init(counts: ["sent": 1]))
            tick(after: History.slotSeconds)
        }
        #expect(history.all.count == History.slots && history.sum("sent") == History.slots)
        #expect(history.closed == History.slots + 10)
        tick(after: 1_000_000)
        #expect(history.all.count == History.slots && history.sum("sent") == 0)
        #expect(history.closed == History.slots + 10 + 200_000)
    }

    @Test("Growth needs a minute, and a mean half of its time")
    mutating func trends() {
        tick(after: 0)
        for slot in 1...13 {
            tick(after: 5, History.Gauges(waitingRecords: 100 * slot, cores: 2))
            let growth = history.growth(of: { Double($0.waitingRecords) }, overSlots: 60)
            #expect(growth == (slot < 13 ? nil : 20))
        }
        #expect(history.mean(of: \.cores, overSlots: 26) == 2)
        #expect(history.mean(of: \.cores, overSlots: 27) == nil)
    }

    @Test("Times of the last minute are those of the slots in it; an hour of them is drawn where there are any")
    mutating func delivery() {
        let live = DeliveryCounts.Way(transport: .http2, topicClass: .live)
        let lagging = DeliveryCounts.Way(transport: .http2, topicClass: .lagging)
        let counts = DeliveryCounts(handedOver: TimeCounts([4]), settled: TimeCounts([0, 0, 2]))
        tick(after: 0)
        for _ in 0..<20 {
            history.add(.init(delivery: [live: counts, lagging: counts]))
            history.add(.init(delivery: [live: counts]))
            tick(after: 5)
        }
        let minute = history.delivery(overSlots: 12)
        #expect(minute[live]?.handedOver == TimeCounts([96]) && minute[lagging]?.settled.total == 24)
        history.add(.init(delivery: [live: counts]))
        #expect(history.delivery(overSlots: 12)[live]?.settled.total == 50)
        tick(after: 5)
        tick(after: 5)
        let series = HistoryDocument(history, slots: 3).series
        // Between 2 and 4 ms.
        #expect(series["settledMedian"] == [3, 3, nil] && series["settled99"] == [3.98, 3.98, nil])
        #expect(series["handedOverMedian"] == [0.5, 0.5, nil])
    }

    @Test("No growth is too large to be added up")
    mutating func overflow() {
        tick(after: 0)
        for _ in 0..<History.slots {
            for _ in 0..<3 { history.add(.init(counts: ["sent": ConsoleLimits.count])) }
            tick(after: 5)
        }
        #expect(history.sum("sent") == History.slots * ConsoleLimits.count)
    }

    @Test("A page gets the latest slots as columns, with null where nothing is known")
    mutating func document() {
        tick(after: 0)
        tick(after: 5, nil)
        history.add(.init(counts: ["sent": 10, "outcome.confirmed": 5, "outcome.presumed": 5, "outcome.rejected": 1]))
        tick(after: 5, History.Gauges(waitingRecords: 7, workers: 3, cores: 0.12345))
        let document = HistoryDocument(history, slots: 2)
        #expect(document.last == 2 && document.slotSeconds == 5)
        #expect(document.series["sent"] == [nil, 2])
        #expect(document.series["accepted"] == [nil, 2])
        #expect(document.series["failed"] == [nil, 0.2])
        #expect(document.series["waiting"] == [nil, 7])
        #expect(document.series["cores"] == [nil, 0.123])
        #expect(HistoryDocument(history, slots: 1).series["workers"] == [3])
    }
}
