import Testing

@testable import PipelineCore

@Suite struct RateMeterTests {
    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000) + .seconds(seconds) }

    @Test("The first rate is that since the start; there is none at the start itself")
    func start() {
        var meter = RateMeter(now: at(0))
        #expect(meter.rate(count: 0, now: at(0)) == .init(perSecond: 0, period: .zero))
        #expect(meter.rate(count: 50, now: at(10)) == .init(perSecond: 5, period: .seconds(10)))
    }

    @Test("The past is forgotten after a minute or two, however often the rate is read")
    func forgetting() {
        var meter = RateMeter(now: at(0))
        for second in 1...200 { _ = meter.rate(count: second * 100, now: at(Int64(second))) }
        for second in 201...300 { _ = meter.rate(count: 20_000, now: at(Int64(second))) }
        let rate = meter.rate(count: 20_000, now: at(301))
        #expect(rate.perSecond == 0)
        #expect(rate.period >= .seconds(60) && rate.period <= .seconds(120))
    }
}
