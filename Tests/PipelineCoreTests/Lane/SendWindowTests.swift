import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

@Suite struct SendWindowTests {
    @Test("A refusal halves the window, down to the smallest; what goes through widens it, up to the largest")
    func bounds() {
        var window = SendWindow(largest: 1000, longestDelay: .seconds(2))
        #expect(window.size == 1000)
        window.refused(outstanding: 900)
        #expect(window.size == 450)
        window.refused(outstanding: 5000)
        #expect(window.size == 225)
        for _ in 0..<10 { window.refused(outstanding: 5000) }
        #expect(window.size == SendWindow.smallest)
        window.passed(10)
        #expect(window.size == SendWindow.smallest + 10 * SendWindow.gain)
        window.passed(.max)
        #expect(window.size == 1000)
    }

    @Test("A window whose largest is smaller than the smallest stays at its largest")
    func tiny() {
        var window = SendWindow(largest: 1, longestDelay: .seconds(2))
        window.refused(outstanding: 1)
        window.passed(1)
        #expect(window.size == 1)
    }

    @Test("After any events the size is within its bounds", arguments: 1...30 as ClosedRange<UInt64>)
    func always(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let largest = Int.random(in: 1...100_000, using: &random)
        var window = SendWindow(largest: largest, longestDelay: .seconds(2))
        for _ in 0..<2000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0: window.passed(.random(in: 0...1000, using: &random))
            case 1: window.refused(outstanding: .random(in: 0...200_000, using: &random))
            default: window.answered(after: .milliseconds(.random(in: 0...5000, using: &random)))
            }
            #expect(window.size >= min(largest, SendWindow.smallest) && window.size <= largest)
            #expect(window.quietDelay >= SendWindow.shortestDelay && window.quietDelay <= .seconds(2))
        }
    }

    @Test(
        "With refusals at random the window settles in proportion to the stretches between them",
        arguments: [20, 200, 2000]
    )
    func proportion(stretch: Int) {
        var random = SeededGenerator(seed: UInt64(stretch))
        var window = SendWindow(largest: 262_144, longestDelay: .seconds(2))
        var sum = 0
        let rounds = 3000
        for round in 0..<2 * rounds {
            let good = random.stretch(mean: stretch)
            window.passed(min(good, window.size))
            window.refused(outstanding: window.size)
            if round >= rounds { sum += window.size }
        }
        let mean = sum / rounds
        #expect(mean >= stretch * 2 && mean <= max(SendWindow.smallest * 3, stretch * 8), "\(mean) for \(stretch)")
    }

    @Test("The time after which silence is good follows slow answers at once and fast ones slowly")
    func quietDelay() {
        var window = SendWindow(largest: 1000, longestDelay: .seconds(2))
        #expect(window.quietDelay == .seconds(2))
        window.answered(after: .milliseconds(100))
        #expect(window.quietDelay == .milliseconds(200))
        window.answered(after: .milliseconds(400))
        #expect(window.quietDelay == .milliseconds(800))
        window.answered(after: .milliseconds(100))
        #expect(window.quietDelay == .milliseconds(700))
        window.answered(after: .seconds(30))
        #expect(window.quietDelay == .seconds(2))
    }
}

/// Effects of the window on a lane.
@Suite struct LaneWindowTests {
    /// A lane that sent 1000 and was refused the one named, 100 ms later.
    private func refused(_ ordinal: UInt32) -> LaneProbe {
        let probe = LaneProbe(inFlight: 10_000)
        probe.publish(1000)
        _ = probe.openAndSend()
        probe.now = probe.now + .milliseconds(100)
        _ = probe.answer(.invalidToken, ordinal)
        return probe
    }

    @Test("After a refusal that cost resends fewer are out until the gateway had time to answer")
    func shrinks() {
        let probe = refused(10)
        #expect(probe.window.size == 500)
        #expect(probe.openAndSend().count == 500)
        #expect(probe.send() == [])
        #expect(probe.window.quietDelay == .milliseconds(200))
        probe.now = probe.now + .milliseconds(199)
        probe.lane.passQuietNotifications(now: probe.now)
        #expect(probe.send() == [])
        probe.now = probe.now + .milliseconds(1)
        probe.lane.passQuietNotifications(now: probe.now)
        #expect(probe.send().count == 489, "the rest: nothing was settled, but the window no longer counts the first")
        #expect(probe.inFlight == 989)
    }

    @Test("A refusal of the last one cost nothing and shrinks nothing; neither does a shutdown")
    func noCost() {
        #expect(refused(999).window.size == 10_000)
        let probe = LaneProbe(inFlight: 10_000)
        probe.publish(1000)
        _ = probe.openAndSend()
        _ = probe.answer(.shutdown, 10)
        #expect(probe.window.size == 10_000)
    }

    @Test("A notification that silence settles widens the window once, whether it was counted as quiet before or not")
    func grows() {
        for isLooking in [true, false] {
            let probe = refused(10)
            #expect(probe.openAndSend().count == 500)
            if isLooking {
                probe.now = probe.now + .seconds(1)
                probe.lane.passQuietNotifications(now: probe.now)
                probe.lane.passQuietNotifications(now: probe.now)
            }
            #expect(probe.silence().presumed.count == 500)
            #expect(probe.window.size == 500 + SendWindow.gain * 500)
        }
    }

    @Test("A lane whose tokens are all bad still gets through")
    func allBad() {
        let probe = LaneProbe(inFlight: 10_000)
        probe.publish(300)
        for ordinal in 0..<300 as Range<UInt32> {
            _ = probe.openAndSend()
            #expect(probe.answer(.invalidToken, ordinal).refused == ordinal)
        }
        #expect(probe.isDrained)
    }
}

extension SeededGenerator {
    /// A number with a geometric distribution.
    fileprivate mutating func stretch(mean: Int) -> Int {
        var count = 0
        while Int.random(in: 0..<mean, using: &self) != 0 { count += 1 }
        return count
    }
}
