import APNsProtocol
import Testing

@testable import PipelineCore

/// The smallest values that limits may have.
@Suite struct SmallestLimitsTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("Of a topic whose pace is 0 from the beginning none goes")
    func pace() {
        var pace = Pace(perSecond: 0, now: Self.start)
        pace.refill(now: Self.start + .seconds(3600))
        #expect(!pace.admits)
    }

    @Test("A burst of one line goes, and one each second after it")
    func line() {
        var budget = LineBudget(burst: 1, perSecond: 1, now: Self.start)
        let told = [0, 0, 1].map { budget.take(now: Self.start + .seconds($0)) }
        #expect(told == [0, nil, 1])
    }

    @Test("In a budget of one byte there is room for one record")
    func memory() {
        var budget = MemoryBudget(limitBytes: 1, topicLimitBytes: 1)
        #expect(budget.admits(topicBytes: 0) && budget.admitsProbe)
        budget.takeBytes(1)
        #expect(!budget.admits(topicBytes: 0))
        budget.giveBack(1)
        budget.use(limitBytes: 1, topicLimitBytes: 1)
        #expect(budget.admits(topicBytes: 0))
    }

    @Test("A sweep of one token a second waits a second for each")
    func sweep() {
        var pace = SweepPace(rate: 1)
        pace.looked(at: 2, now: Self.start)
        #expect(pace.wait(now: Self.start) == .seconds(2))
        pace.use(rate: 1)
        pace.looked(at: 1, now: Self.start + .seconds(2))
        #expect(pace.wait(now: Self.start + .seconds(2)) == .seconds(1))
    }

    @Test("A pool that need not wait to grow wants the next connection at once")
    func growth() {
        let limits = StreamPoolLimits(
            connections: 2,
            startsWithOneStream: false,
            growAfter: .zero,
            growEvery: .zero
        )
        var pool = StreamPool(limits: limits)
        let number = pool.connecting(now: Self.start)
        pool.opened(number, streams: 1, now: Self.start, random: 0)
        pool.pumped(isWaiting: true, now: Self.start)
        let wanted = pool.wantsConnection(now: Self.start)
        #expect(wanted == .first)
    }

    @Test("With one attempt in all the first processing error is final")
    func attempt() {
        let probe = LaneProbe()
        probe.lane.use(LaneLimits(processingAttempts: 1))
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        #expect(probe.answer(.processingError, 0) == .init(refused: 0, resent: 1))
    }
}
