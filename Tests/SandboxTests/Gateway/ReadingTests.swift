import TestSupport
import Testing

@testable import Sandbox

/// The machines behind slow and late reading.
struct ReadingTests {
    private static let second: Int64 = 1_000_000_000

    @Test("What was read has to be worked off before the next is read")
    func pace() {
        var pacer = ReadPacer()
        #expect(pacer.nextReadAt <= 0)
        pacer.took(500, bytesPerSecond: 1000, now: 0)
        #expect(pacer.nextReadAt == Self.second / 2)
        pacer.took(1000, bytesPerSecond: 1000, now: Self.second / 4)
        #expect(pacer.nextReadAt == Self.second * 3 / 2, "what could not be held back is owed")
        pacer.took(1, bytesPerSecond: 1000, now: 10 * Self.second)
        #expect(pacer.nextReadAt == 10 * Self.second + Self.second / 1000, "a pause is not saved up")
        pacer.reset()
        #expect(pacer.nextReadAt <= 0)
    }

    @Test("Over any time no more than the rate is read, beyond one read", arguments: 0..<10 as Range<UInt64>)
    func rate(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pacer = ReadPacer()
        let rate = Int.random(in: 1...100_000, using: &random)
        var now: Int64 = 0
        var bytes = 0
        for _ in 0..<1000 {
            now = max(now, pacer.nextReadAt)
            #expect(Double(bytes) <= Double(rate) * Double(now) / 1e9 + 1)
            let read = Int.random(in: 1...5000, using: &random)
            bytes += read
            pacer.took(read, bytesPerSecond: rate, now: now)
        }
    }

    @Test("The extremes of what can be asked for do not overflow")
    func extremes() {
        var pacer = ReadPacer()
        pacer.took(1 << 30, bytesPerSecond: 1, now: 0)
        #expect(pacer.nextReadAt == (1 << 30) * Self.second)
        #expect(ReadPacer.readBytes(bytesPerSecond: 1) == 512)
        #expect(ReadPacer.readBytes(bytesPerSecond: 80_000) == 10_000)
        #expect(ReadPacer.readBytes(bytesPerSecond: 1_000_000_000) == 65_536)
    }

    @Test("Nothing leaves before its time, and nothing overtakes")
    func line() {
        var line = DelayLine<Int>()
        line.append(1, bytes: 10, due: 100)
        line.append(2, bytes: 20, due: 50)
        #expect(line.bytes == 30)
        #expect(line.nextDue == 100)
        var taken = line.takeDue(now: 99)
        #expect(taken == nil)
        taken = line.takeDue(now: 100)
        #expect(taken == 1)
        #expect(line.nextDue == 100, "it was due before, but stood behind")
        line.putBack(1, bytes: 5)
        #expect(line.bytes == 25)
        taken = line.takeDue(now: 0)
        #expect(taken == 1)
        taken = line.takeDue(now: 100)
        #expect(taken == 2)
        #expect(line.isEmpty)
        #expect(line.bytes == 0)
        #expect(line.nextDue == nil)
    }

    @Test("A line gives out what it took in, in order, whatever comes between", arguments: 0..<10 as Range<UInt64>)
    func lineInOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var line = DelayLine<Int>()
        var next = 0
        var expected = 0
        for now in 0..<5000 as Range<Int64> {
            if Bool.random(using: &random) {
                line.append(next, bytes: 1, due: now + .random(in: 0...200, using: &random))
                next += 1
            }
            while let taken = line.takeDue(now: now) {
                #expect(taken == expected)
                if Int.random(in: 0..<8, using: &random) == 0 {
                    line.putBack(taken, bytes: 1)
                } else {
                    expected += 1
                }
            }
            #expect(line.bytes == next - expected)
        }
    }
}
