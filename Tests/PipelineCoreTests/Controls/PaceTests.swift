import PipelineCore
import Testing

/// The bucket of a pace.
@Suite("Pace")
struct PaceTests {
    private static func at(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    @Test("It begins empty, fills at its pace, and holds one second of it")
    func fills() {
        var pace = Pace(perSecond: 100, now: Self.at(0))
        #expect(!pace.admits)
        pace.refill(now: Self.at(10))
        #expect(pace.admits && !pace.isHalfFull && pace.level == 1)
        pace.refill(now: Self.at(500))
        #expect(pace.isHalfFull && pace.level == 50)
        pace.refill(now: Self.at(60_000))
        #expect(pace.level == 100)
    }

    @Test("A record larger than what is there is taken in whole, and the debt is waited for")
    func debt() {
        var pace = Pace(perSecond: 10, now: Self.at(0))
        pace.refill(now: Self.at(100))
        pace.take(51)
        #expect(!pace.admits && pace.level == -50)
        pace.refill(now: Self.at(5000))
        #expect(!pace.admits)
        pace.refill(now: Self.at(5101))
        #expect(pace.admits)
    }

    @Test("The mean is kept for records of all sizes", arguments: [1, 7, 500])
    func mean(tokens: Int) {
        var pace = Pace(perSecond: 50, now: Self.at(0))
        var sent = 0
        for step in 0..<UInt64(3000) {
            pace.refill(now: Self.at(step * 20))
            while pace.admits {
                pace.take(tokens)
                sent += tokens
            }
        }
        // 60 s at 50 a second, and at most one record more.
        #expect((3000 - 50...3000 + tokens).contains(sent))
    }

    @Test("A slow pace lets one go in several seconds; none goes at 0")
    func slow() {
        var pace = Pace(perSecond: 0.25, now: Self.at(0))
        pace.refill(now: Self.at(2000))
        #expect(pace.isHalfFull)
        pace.take(1)
        pace.refill(now: Self.at(3000))
        #expect(!pace.admits)
        pace.refill(now: Self.at(4100))
        #expect(pace.admits)
        pace.change(perSecond: 0, now: Self.at(4100))
        pace.take(1)
        pace.refill(now: Self.at(1_000_000))
        #expect(!pace.admits)
    }

    @Test("Notifications that are fed anew are given back, up to the size of the bucket")
    func giveBack() {
        var pace = Pace(perSecond: 10, now: Self.at(0))
        pace.refill(now: Self.at(1000))
        pace.take(500)
        pace.giveBack(500)
        #expect(pace.level == 10)
        pace.giveBack(500)
        #expect(pace.level == 10)
    }

    @Test("A change counts from then on: what is there stays within the new size, and a debt stays")
    func change() {
        var pace = Pace(perSecond: 100, now: Self.at(0))
        pace.refill(now: Self.at(1000))
        pace.change(perSecond: 10, now: Self.at(1000))
        #expect(pace.level == 10)
        pace.take(30)
        pace.change(perSecond: 20, now: Self.at(1000))
        #expect(pace.level == -20)
        pace.refill(now: Self.at(1500))
        #expect(pace.level == -10)
    }
}
