import PipelineCore
import TestSupport
import Testing

@Suite("Summaries of records")
struct RecordSummariesTests {
    @Test("Counts are there when every token has an outcome, and say how many have which")
    func complete() {
        var summaries = RecordSummaries<String>()
        summaries.begin(7, tokens: 3)
        let first = [(2, "confirmed"), (0, "rejected")].map { summaries.settle(7, token: $0, $1) }
        #expect(first == [true, true] && summaries.counts(7) == nil && summaries.settledCount(7) == 2)
        let isNew = summaries.settle(7, token: 1, "confirmed")
        #expect(isNew)
        #expect(summaries.counts(7) == ["confirmed": 2, "rejected": 1])
        summaries.end(7)
        #expect(summaries.isEmpty && summaries.counts(7) == nil)
    }

    @Test("The first outcome of a token stands")
    func first() {
        var summaries = RecordSummaries<String>()
        summaries.begin(0, tokens: 1)
        let areNew = ["presumed", "rejected"].map { summaries.settle(0, token: 0, $0) }
        #expect(areNew == [true, false])
        #expect(summaries.counts(0) == ["presumed": 1])
    }

    @Test("A record that begins again keeps its outcomes")
    func again() {
        var summaries = RecordSummaries<String>()
        for _ in 1...2 {
            summaries.begin(5, tokens: 2)
            _ = summaries.settle(5, token: 1, "confirmed")
        }
        #expect(summaries.isSettled(5, token: 1) && !summaries.isSettled(5, token: 0))
        #expect(summaries.settledCount(5) == 1)
    }

    @Test("A record without a summary has no settled token, and takes no outcome")
    func unknown() {
        var summaries = RecordSummaries<String>()
        summaries.begin(5, tokens: 2)
        let areNew = [(6, 0), (5, 2)].map { summaries.settle($0, token: $1, "confirmed") }
        #expect(areNew == [false, false] && !summaries.isSettled(6, token: 0))
        #expect(!summaries.isSettled(5, token: 2), "it has two tokens")
        #expect(summaries.settledCount(6) == 0)
    }

    @Test("A token beyond those of its record is unknown, also where their bits fill a word")
    func wholeWord() {
        var summaries = RecordSummaries<String>()
        summaries.begin(5, tokens: 64)
        let isNew = summaries.settle(5, token: 64, "confirmed")
        #expect(!isNew && !summaries.isSettled(5, token: 64))
    }

    @Test("A record is begun by its first outcome, and ended by the acknowledgement of its summary")
    func begun() {
        var summaries = RecordSummaries<String>()
        for offset in [9, 5, 7] as [Int64] { summaries.begin(offset, tokens: 1) }
        #expect(summaries.firstBegun == nil)
        for offset in [9, 7] as [Int64] { _ = summaries.settle(offset, token: 0, "confirmed") }
        #expect(summaries.firstBegun == 7)
        summaries.end(7)
        #expect(summaries.firstBegun == 9)
    }

    @Test("Records below an offset are forgotten")
    func forgotten() {
        var summaries = RecordSummaries<String>()
        for offset in [5, 7] as [Int64] {
            summaries.begin(offset, tokens: 2)
            _ = summaries.settle(offset, token: 0, "confirmed")
        }
        summaries.forget(below: 7)
        #expect(!summaries.isSettled(5, token: 0) && summaries.isSettled(7, token: 0) && summaries.firstBegun == 7)
    }

    @Test("Any number of tokens in any order is counted once each", arguments: 0..<50 as Range<UInt64>)
    func anyOrder(seed: UInt64) {
        var numbers = SeededGenerator(seed: seed)
        let tokens = Int.random(in: 1...200, using: &numbers)
        var summaries = RecordSummaries<Int>()
        summaries.begin(9, tokens: tokens)
        var expected: [Int: UInt32] = [:]
        for token in (0..<UInt32(tokens)).shuffled(using: &numbers) {
            #expect(summaries.counts(9) == nil)
            let kind = Int.random(in: 0...8, using: &numbers)
            expected[kind, default: 0] += 1
            let areNew = [kind, kind + 1].map { summaries.settle(9, token: token, $0) }
            #expect(areNew == [true, false])
        }
        #expect(summaries.counts(9) == expected)
    }
}
