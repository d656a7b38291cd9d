import Testing

@testable import PipelineCore

@Suite struct TokenStorePatienceTests {
    private func at(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    /// Found to be away at 1000 ms, after a look-up that was due at 0.
    private func away() -> TokenStorePatience {
        var patience = TokenStorePatience(limit: .seconds(1))
        #expect(patience.decide(now: at(0)) == .ask)
        #expect(patience.isOver(since: at(0), now: at(999)) == false)
        #expect(!patience.isAway)
        #expect(patience.isOver(since: at(0), now: at(1000)) == true)
        #expect(patience.isAway)
        return patience
    }

    @Test("Without a limit everything waits, for ever")
    func waits() {
        var patience = TokenStorePatience(limit: nil)
        #expect(patience.isOver(since: at(0), now: MonotonicTime(nanoseconds: .max)) == false)
        patience.failed(now: at(1))
        #expect(patience.decide(now: at(2)) == .ask)
        #expect(patience.answered() == false)
    }

    @Test("Once a look-up has waited for the limit nothing waits any more, however short it has waited")
    func goesOn() {
        var patience = away()
        #expect(patience.isOver(since: at(1000), now: at(1000)) == true)
        #expect(patience.decide(now: at(1001)) == .goOn)
    }

    @Test("While the store is away one look-up at a time is asked, a limit apart")
    func probes() {
        var patience = away()
        #expect(patience.decide(now: at(1999)) == .goOn)
        #expect(patience.decide(now: at(2000)) == .probe)
        #expect(patience.decide(now: at(9000)) == .goOn, "one is under way")
        patience.failed(now: at(9000))
        #expect(patience.decide(now: at(9999)) == .goOn)
        #expect(patience.decide(now: at(10_000)) == .probe)
    }

    @Test("An answer, even to an abandoned look-up, says that the store is back")
    func comesBack() {
        var patience = away()
        #expect(patience.answered() == true, "that is news")
        #expect(!patience.isAway)
        #expect(patience.decide(now: at(5000)) == .ask)
        #expect(patience.isOver(since: at(5000), now: at(5999)) == false)
        #expect(patience.answered() == false)
    }

    @Test("An error for an answer does not say that the store is away before the limit is over")
    func errors() {
        var patience = TokenStorePatience(limit: .seconds(1))
        patience.failed(now: at(10))
        #expect(!patience.isAway)
        #expect(patience.decide(now: at(11)) == .ask)
    }
}
