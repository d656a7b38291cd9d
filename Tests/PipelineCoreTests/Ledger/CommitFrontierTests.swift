import Testing

@testable import PipelineCore

@Suite struct CommitFrontierTests {
    private let none = DoneRanges()

    private func position(_ offset: Int64, _ token: UInt32) -> DoneRanges.Position {
        .init(offset: offset, token: token)
    }

    @Test("Nothing is committed before anything was consumed")
    func empty() {
        #expect(CommitFrontier().frontierOffset == nil)
    }

    @Test("A record is committed when its last token is done, and not before")
    func wholeRecord() {
        var frontier = CommitFrontier()
        let record = frontier.append(offset: 10, tokens: 3, alreadyDone: none)
        frontier.markDone(record, token: 0)
        frontier.markDone(record, token: 2)
        #expect(frontier.frontierOffset == 10)
        frontier.markDone(record, token: 1)
        #expect(frontier.frontierOffset == 11 && frontier.doneRanges().isEmpty)
        #expect(frontier.uncommitted == 0 && frontier.recordCount == 0)
    }

    @Test("The commit follows consumed order: holes between offsets do not stop it")
    func holes() {
        var frontier = CommitFrontier()
        let first = frontier.append(offset: 10, tokens: 1, alreadyDone: none)
        let second = frontier.append(offset: 17, tokens: 1, alreadyDone: none)
        frontier.markDone(first, token: 0)
        #expect(frontier.frontierOffset == 17)
        frontier.markDone(second, token: 0)
        #expect(frontier.frontierOffset == 18)
    }

    @Test("A later record that is done waits for an earlier one")
    func order() {
        var frontier = CommitFrontier()
        _ = frontier.append(offset: 1, tokens: 1, alreadyDone: none)
        let second = frontier.append(offset: 2, tokens: 1, alreadyDone: none)
        frontier.markDone(second, token: 0)
        #expect(frontier.frontierOffset == 1)
        #expect(frontier.doneRanges().runs == [position(2, 0)..<position(3, 0)])
        #expect(frontier.uncommitted == 2)
    }

    @Test("A held record is not committed until it is released, whatever is done")
    func hold() {
        var frontier = CommitFrontier()
        let record = frontier.append(offset: 5, tokens: 1, alreadyDone: none)
        frontier.hold(record)
        frontier.markDone(record, token: 0)
        #expect(frontier.frontierOffset == 5)
        frontier.release(record)
        #expect(frontier.frontierOffset == 6)
    }

    @Test("A record without tokens waits for its release only; without a hold the next advance passes it")
    func noTokens() {
        var frontier = CommitFrontier()
        _ = frontier.append(offset: 5, tokens: 0, alreadyDone: none)
        frontier.advance()
        #expect(frontier.frontierOffset == 6)
        let held = frontier.append(offset: 6, tokens: 0, alreadyDone: none)
        frontier.hold(held)
        frontier.advance()
        #expect(frontier.frontierOffset == 6)
        frontier.release(held)
        #expect(frontier.frontierOffset == 7)
    }

    @Test("A held record without tokens splits a run: it does not count as done")
    func heldSplits() {
        var frontier = CommitFrontier()
        _ = frontier.append(offset: 1, tokens: 1, alreadyDone: none)
        let second = frontier.append(offset: 2, tokens: 1, alreadyDone: none)
        let held = frontier.append(offset: 3, tokens: 0, alreadyDone: none)
        frontier.hold(held)
        let last = frontier.append(offset: 4, tokens: 1, alreadyDone: none)
        frontier.markDone(second, token: 0)
        frontier.markDone(last, token: 0)
        #expect(frontier.doneRanges().runs.count == 2)
        #expect(!frontier.doneRanges().contains(.init(offset: 3, token: 0)))
    }

    @Test("Settling twice is no news the second time")
    func twice() {
        var frontier = CommitFrontier()
        let record = frontier.append(offset: 5, tokens: 2, alreadyDone: none)
        let first = frontier.markDone(record, token: 1)
        let second = frontier.markDone(record, token: 1)
        #expect(first && !second)
        #expect(frontier.isDone(record, token: 1) && !frontier.isDone(record, token: 0))
        frontier.markDone(record, token: 0)
        let behind = frontier.markDone(record, token: 0)
        #expect(!behind && frontier.isDone(record, token: 0))
    }

    @Test("The next commit still names notifications that the last one named as done and that were not consumed again")
    func inherited() {
        var before = DoneRanges()
        before.append(position(10, 1)..<position(10, 3))
        before.append(position(20, 0)..<position(30, 5))
        var frontier = CommitFrontier()
        let first = frontier.append(offset: 10, tokens: 4, alreadyDone: before)
        #expect(frontier.doneRanges() == before)
        frontier.markDone(first, token: 0)
        frontier.markDone(first, token: 3)
        #expect(frontier.frontierOffset == 11)
        #expect(frontier.doneRanges().runs == [before.runs[1]])
        _ = frontier.append(offset: 25, tokens: 2, alreadyDone: before)
        frontier.advance()
        #expect(frontier.frontierOffset == 26)
        #expect(frontier.doneRanges().runs == [position(26, 0)..<position(30, 5)])
        _ = frontier.append(offset: 31, tokens: 1, alreadyDone: before)
        #expect(frontier.doneRanges().isEmpty)
    }

    @Test("Done ranges are as many runs as are asked for, from the front")
    func limitedRuns() {
        var frontier = CommitFrontier()
        for offset in 1...6 as ClosedRange<Int64> {
            _ = frontier.append(offset: offset, tokens: 1, alreadyDone: none)
        }
        for number in [1, 3, 5] as [UInt32] { frontier.markDone(number, token: 0) }
        let all = frontier.doneRanges().runs
        #expect(all.count == 3)
        for limit in 1...3 { #expect(frontier.doneRanges(limit: limit).runs == Array(all.prefix(limit))) }
    }

    // MARK: Memory and questions

    @Test("Bytes are those of the records that are not behind the frontier")
    func bytes() {
        var frontier = CommitFrontier()
        let first = frontier.append(offset: 1, tokens: 1, bytes: 100, alreadyDone: none)
        let second = frontier.append(offset: 2, tokens: 1, bytes: 30, alreadyDone: none)
        _ = frontier.append(offset: 3, tokens: 0, bytes: 7, alreadyDone: none)
        #expect(frontier.bytes == 137)
        frontier.markDone(second, token: 0)
        #expect(frontier.bytes == 137, "it waits behind the first")
        frontier.markDone(first, token: 0)
        #expect(frontier.bytes == 0)
    }

    @Test("A record too large for its counter is taken back with the same bytes")
    func hugeRecord() {
        var frontier = CommitFrontier()
        let record = frontier.append(offset: 1, tokens: 1, bytes: 1 << 40, alreadyDone: none)
        #expect(frontier.bytes == Int(UInt32.max))
        frontier.markDone(record, token: 0)
        #expect(frontier.bytes == 0)
    }

    @Test("A burst that is done as a whole leaves no record in memory")
    func burst() {
        var frontier = CommitFrontier()
        let numbers = (1...3 as ClosedRange<Int64>).map { frontier.append(offset: $0, tokens: 1, alreadyDone: none) }
        for number in numbers { frontier.markDone(number, token: 0) }
        #expect(frontier.records.isEmpty && frontier.frontierOffset == 4)
    }

    @Test("When many records in front are done, those behind them keep their numbers and marks")
    func manyInFront() {
        var frontier = CommitFrontier()
        for record in 0..<1500 as Range<Int64> {
            _ = frontier.append(offset: 10 * record, tokens: 1, alreadyDone: none)
        }
        for number in 0..<1100 as Range<UInt32> { frontier.markDone(number, token: 0) }
        #expect(frontier.recordCount == 400 && frontier.uncommitted == 400)
        #expect(frontier.frontierOffset == 11_000 && frontier.offset(of: 1499) == 14_990)
        frontier.markDone(1200, token: 0)
        #expect(frontier.isDone(1200, token: 0) && !frontier.isDone(1201, token: 0))
        #expect(frontier.doneRanges().runs == [position(12_000, 0)..<position(12_010, 0)])
        let next = frontier.append(offset: 15_000, tokens: 1, alreadyDone: none)
        #expect(next == 1500)
    }

    @Test("The rest of a record is its open tokens and the hold on it; behind the frontier it is nothing")
    func remaining() {
        var frontier = CommitFrontier()
        let record = frontier.append(offset: 5, tokens: 3, alreadyDone: none)
        frontier.hold(record)
        #expect(frontier.remaining(of: record) == 4)
        frontier.markDone(record, token: 1)
        frontier.markDone(record, token: 1)
        #expect(frontier.remaining(of: record) == 3)
        frontier.release(record)
        frontier.markDone(record, token: 0)
        #expect(frontier.remaining(of: record) == 1)
        frontier.markDone(record, token: 2)
        #expect(frontier.remaining(of: record) == 0 && frontier.remaining(of: record &+ 1) == 0)
    }

    @Test("A record's offset is known until it is behind the frontier", arguments: [0, UInt32.max])
    func offsets(firstNumber: UInt32) {
        var frontier = CommitFrontier(firstNumber: firstNumber)
        let first = frontier.append(offset: 10, tokens: 1, alreadyDone: none)
        let second = frontier.append(offset: 17, tokens: 1, alreadyDone: none)
        #expect(frontier.offset(of: first) == 10 && frontier.offset(of: second) == 17)
        #expect(frontier.offset(of: second &+ 1) == nil && frontier.nextOffset == 18)
        frontier.markDone(first, token: 0)
        #expect(frontier.offset(of: first) == nil && frontier.offset(of: second) == 17)
    }

    @Test(
        "Entries of a log are marked as one by one: up to another assignment's, dropped ones not, and each only once",
        arguments: [0, UInt32.max]
    )
    func entriesOfLog(firstNumber: UInt32) {
        var together = CommitFrontier(firstNumber: firstNumber)
        var apart = CommitFrontier(firstNumber: firstNumber)
        var log = FrameLog()
        func append(_ assignment: UInt32, _ record: UInt32, _ token: UInt32) {
            _ = log.reserve(10)
            log.commit(NotificationReference(assignment: assignment, record: record, token: token), bytes: 10)
        }
        for (index, tokens) in [1, 200, 3].enumerated() {
            let offset = Int64(10 + 7 * index)
            let number = together.append(offset: offset, tokens: tokens, alreadyDone: none)
            _ = apart.append(offset: offset, tokens: tokens, alreadyDone: none)
            for token in 0..<UInt32(tokens) where token != 150 { append(4, number, token) }
        }
        append(4, firstNumber &+ 2, 1)
        append(5, firstNumber &+ 1, 150)
        append(4, firstNumber &+ 1, 150)
        log.drop(at: 2)
        var sequence: UInt64 = 0
        while sequence < log.tail {
            guard log.entry(at: sequence).reference.assignment == 4 else {
                sequence += 1
                continue
            }
            let (marked, end) = together.markDone(sequence..<log.tail, of: log, assignment: 4)
            var expected = 0
            for each in sequence..<end where !log.entry(at: each).isDropped {
                let reference = log.entry(at: each).reference
                if apart.markDone(reference.record, token: reference.token) { expected += 1 }
            }
            #expect(marked == expected)
            #expect(together.frontierOffset == apart.frontierOffset && together.bytes == apart.bytes)
            #expect(together.doneRanges() == apart.doneRanges() && together.uncommitted == apart.uncommitted)
            #expect(end == log.tail || log.entry(at: end).reference.assignment == 5)
            sequence = end
        }
        #expect(together.frontierOffset == 17 && together.remaining(of: firstNumber &+ 1) == 1)
    }
}
