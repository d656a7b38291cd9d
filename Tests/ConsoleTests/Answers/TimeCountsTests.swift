import PipelineCore
import Testing

@testable import Console

/// Times counted in buckets, and the quantiles that are read from them.
struct TimeCountsTests {
    @Test("There are as many counts as buckets, whatever is answered")
    func buckets() {
        #expect(TimeCounts([1]) == TimeCounts([1, 0, 0]))
        #expect(TimeCounts(Array(repeating: 1, count: 100)).total == TimeCounts.boundsSeconds.count + 1)
        #expect(TimeCounts().quantile(0.5) == nil)
    }

    @Test(
        "A quantile lies evenly within its bucket",
        arguments: [
            ([100], 0.5, 0.0005), ([100], 0.99, 0.00099), ([0, 100], 0.5, 0.0015), ([50, 50], 0.5, 0.001),
            ([50, 50], 0.75, 0.0015), ([99, 0, 0, 1], 0.99, 0.001), ([98, 0, 0, 2], 0.99, 0.006), ([1], 0, 0),
        ]
    )
    func quantiles(counts: [Int], share: Double, seconds: Double) throws {
        let quantile = try #require(TimeCounts(counts).quantile(share))
        #expect(abs(quantile - seconds) < 1e-12)
    }

    @Test("Times beyond the last bound are told as that bound")
    func beyond() {
        let counts = TimeCounts(TimeCounts.boundsSeconds.map { _ in 0 } + [7])
        #expect(counts.total == 7 && counts.quantile(0.5) == TimeCounts.boundsSeconds.last)
    }

    @Test("A worker's histogram gives the quantile that it was filled with, within its bucket")
    func histogram() throws {
        var histogram = Histogram.delivery
        histogram.observe(.milliseconds(40), count: 98)
        histogram.observe(.seconds(3), count: 2)
        let counts = TimeCounts(histogram.countsByBucket.map(Int.init))
        #expect(histogram.boundsSeconds == TimeCounts.boundsSeconds)
        #expect((0.032...0.064).contains(try #require(counts.quantile(0.5))))
        #expect((2.048...4.096).contains(try #require(counts.quantile(0.99))))
    }

    @Test("Growth is never negative, and sums stay numbers")
    func growth() {
        let before = TimeCounts([3, 5])
        #expect(TimeCounts([4, 5, 1]).grown(since: before) == TimeCounts([1, 0, 1]))
        #expect(TimeCounts([0, 9]).grown(since: before) == TimeCounts([0, 4]))
        #expect(before.fell(behind: TimeCounts([2, 9])) && !before.fell(behind: TimeCounts([3, 6])))
        var sum = TimeCounts([ConsoleLimits.count])
        sum.add(sum)
        #expect(sum == TimeCounts([ConsoleLimits.count]))
    }
}
