import Testing

@testable import PipelineCore

struct ForeignClockTests {
    @Test("An hour ahead of its witness is believed, a second more is not; behind it anything is")
    func limits() {
        #expect(!ForeignClock.isTooFarAhead(1_500_003_600, of: 1_500_000_000))
        #expect(ForeignClock.isTooFarAhead(1_500_003_601, of: 1_500_000_000))
        #expect(!ForeignClock.isTooFarAhead(0, of: 1_500_000_000))
        #expect(ForeignClock.isTooFarAhead(.max, of: 0))
        #expect(!ForeignClock.isTooFarAhead(.max, of: .max))
    }
}
