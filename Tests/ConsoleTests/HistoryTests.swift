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
        history.add(["sent": 3])
        tick(after: 4)
        #expect(history.closed == 0)
        history.add(["sent": 4])
        tick(after: 1, History.Gauges(waitingRecords: 9))
        #expect(Array(history.all) == [.init(counts: ["sent": 7], gauges: .init(waitingRecords: 9))])
        tick(after: 5, nil)
        #expect(history.closed == 2 && history.all.last == History.Slot())
    }

    @Test("Time that nobody looked at is a gap, and the slots stay in step")
    mutating func gap() {
        tick(after: 0)
        tick(after: 17)
        #expect(history.closed == 3)
        #expect(history.all.map { $0.gauges != nil } == [false, false, true])
        tick(after: 3)
        #expect(history.closed == 4)
    }

    @Test("An hour is kept and no more, however long nobody looks")
    mutating func bounded() {
        tick(after: 0)
        for _ in 0..<History.slots + 10 {
            history.add(["sent": 1])
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

    @Test("No growth is too large to be added up")
    mutating func overflow() {
        tick(after: 0)
        for _ in 0..<History.slots {
            for _ in 0..<3 { history.add(["sent": ConsoleLimits.count]) }
            tick(after: 5)
        }
        #expect(history.sum("sent") == History.slots * ConsoleLimits.count)
    }

    @Test("A page gets the latest slots as columns, with null where nothing is known")
    mutating func document() {
        tick(after: 0)
        tick(after: 5, nil)
        history.add(["sent": 10, "outcome.confirmed": 5, "outcome.presumed": 5, "outcome.rejected": 1])
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
