import Testing

@testable import PipelineCore

@Suite struct RoundTripSamplerTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    @Test("One request at a time is measured, and the clock is read for no other")
    func oneAtATime() {
        var sampler = RoundTripSampler()
        var readings = 0
        func now(_ milliseconds: Int64) -> MonotonicTime {
            readings += 1
            return at(milliseconds)
        }
        let measuresFirst = sampler.begin(1, now: now(0))
        #expect(measuresFirst)
        let measuresSecond = sampler.begin(2, now: now(1))
        #expect(!measuresSecond)
        sampler.end(2, isAnswered: true, now: now(2))
        #expect(sampler.roundTrips.count == 0 && readings == 1)
        sampler.end(1, isAnswered: true, now: now(3))
        #expect(sampler.roundTrips.count == 1 && sampler.roundTrips.sumSeconds == 0.003)
        #expect(readings == 2)
        let measuresThird = sampler.begin(3, now: now(4))
        #expect(measuresThird, "the next sample")
    }

    @Test("A request that failed on the way is no round trip, and makes room for the next sample")
    func failures() {
        var sampler = RoundTripSampler()
        sampler.begin(1, now: at(0))
        sampler.end(1, isAnswered: false, now: at(9))
        #expect(sampler.roundTrips.count == 0)
        sampler.begin(2, now: at(10))
        sampler.end(2, isAnswered: true, now: at(12))
        #expect(sampler.roundTrips.sumSeconds == 0.002)
    }
}
