import Testing

@testable import PipelineCore

@Suite("Publications that wait for their producer")
struct PublicationLineTests {
    private var line = PublicationLine()
    private var now = MonotonicTime(nanoseconds: 1_000_000_000)

    /// Takes all that may go now.
    private mutating func take() -> [UInt64] {
        var taken: [UInt64] = []
        while let number = line.takeNext(now: now) { taken.append(number) }
        return taken
    }

    private mutating func pass(_ seconds: Int64) { now = now + .seconds(seconds) }

    @Test("Half a million go in the order in which they came, and the line is empty then")
    mutating func order() {
        for number in 0..<500_000 as Range<UInt64> { line.add(number) }
        #expect(line.count == 500_000 && line.isReady)
        #expect(take() == Array(0..<500_000))
        #expect(line.count == 0 && !line.isReady)
    }

    @Test("A full producer gets nothing before it has room, and then the one that it refused first")
    mutating func full() {
        for number in 1...4 as ClosedRange<UInt64> { line.add(number) }
        #expect(line.takeNext(now: now) == 1)
        #expect(line.takeNext(now: now) == 2)
        line.refused(2, .full, now: now)
        pass(60)
        #expect(take().isEmpty && !line.isReady && line.count == 3 && line.barredCount == 0)
        line.roomCame()
        #expect(line.isReady)
        #expect(take() == [2, 3, 4])
    }

    @Test("A topic that is refused gets one publication at a time, after pauses that grow to half a minute")
    mutating func barred() {
        for number in 0..<1000 as Range<UInt64> { line.add(number) }
        for number in take() { line.refused(number, .barred, now: now) }
        #expect(line.barredCount == 1000 && !line.isReady)
        var attempts: [Int64] = []
        for second in 1...200 as ClosedRange<Int64> {
            pass(1)
            let taken = take()
            #expect(taken.count <= 1)
            guard let number = taken.first else { continue }
            attempts.append(second)
            line.refused(number, .barred, now: now)
        }
        #expect(attempts == [1, 3, 7, 15, 31, 61, 91, 121, 151, 181])
        #expect(line.count == 1000)
        pass(30)
        #expect(take().count == 1)
        line.acknowledged()
        #expect(line.barredCount == 0 && line.isReady)
        #expect(take().count == 999)
    }

    @Test("A publication that fails for itself keeps no other waiting, and is tried after longer and longer pauses")
    mutating func failed() {
        line.add(1)
        line.add(2)
        #expect(line.takeNext(now: now) == 1)
        line.refused(1, .failed, now: now)
        #expect(take() == [2])
        pass(1)
        #expect(take() == [1])
        line.refused(1, .failed, now: now)
        pass(1)
        #expect(take().isEmpty)
        pass(1)
        #expect(take() == [1])
        line.acknowledged()
        line.add(3)
        #expect(take() == [3])
        line.refused(3, .failed, now: now)
        pass(1)
        #expect(take() == [3], "an acknowledgement ends the series")
    }

    @Test("A publication that cannot be made smaller is tried each half minute, whatever else is taken")
    mutating func unfit() {
        line.add(1)
        #expect(take() == [1])
        line.refused(1, .unfit, now: now)
        #expect(line.barredCount == 1)
        for _ in 1..<30 {
            pass(1)
            line.acknowledged()
            #expect(take().isEmpty)
        }
        pass(1)
        #expect(take() == [1])
        #expect(line.barredCount == 0)
    }

    @Test("A publication that is not needed any more is removed wherever it waits")
    mutating func removal() {
        for number in 1...6 as ClosedRange<UInt64> { line.add(number) }
        #expect(line.takeNext(now: now) == 1)
        line.refused(1, .failed, now: now)
        #expect(line.takeNext(now: now) == 2)
        line.refused(2, .unfit, now: now)
        line.removeAll { $0.isMultiple(of: 2) || $0 == 1 }
        #expect(line.count == 2)
        #expect(take() == [3, 5])
    }
}
