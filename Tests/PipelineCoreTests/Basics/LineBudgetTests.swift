import Testing

@testable import PipelineCore

/// Log lines of one kind.
@Suite struct LineBudgetTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("A burst goes, then so many a second; the next line tells how many were passed over")
    func budget() {
        var budget = LineBudget(burst: 3, perSecond: 2, now: Self.start)
        let first = (0..<10).map { _ in budget.take(now: Self.start) }
        #expect(first == [0, 0, 0] + [Int?](repeating: nil, count: 7))
        #expect(budget.take(now: Self.start + .milliseconds(499)) == nil)
        #expect(budget.take(now: Self.start + .milliseconds(500)) == 8)
        #expect(budget.take(now: Self.start + .milliseconds(1000)) == 0)
        let rested = (0..<5).map { _ in budget.take(now: Self.start + .seconds(60)) }
        #expect(rested == [0, 0, 0, nil, nil], "no more than a burst is saved")
    }
}
