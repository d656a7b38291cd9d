import Testing

@testable import PipelineCore

@Suite struct HistogramTests {
    private func counts(_ histogram: Histogram) -> [UInt64] { histogram.cumulative.map(\.count) }

    @Test("Bounds double, the last is infinite, and each belongs to its bucket")
    func bounds() {
        var histogram = Histogram(first: .milliseconds(1), bounds: 3)
        #expect(histogram.cumulative.map(\.boundSeconds) == [0.001, 0.002, 0.004, .infinity])
        for nanoseconds: UInt64 in [0, 1, 1_000_000] { histogram.observe(nanoseconds: nanoseconds) }
        #expect(counts(histogram) == [3, 3, 3, 3])
        histogram.observe(nanoseconds: 1_000_001)
        histogram.observe(.milliseconds(2))
        #expect(counts(histogram) == [3, 5, 5, 5])
        histogram.observe(nanoseconds: 4_000_000)
        histogram.observe(nanoseconds: 4_000_001)
        histogram.observe(nanoseconds: .max)
        #expect(counts(histogram) == [3, 5, 6, 8])
        #expect(histogram.count == 8)
    }

    @Test("Every duration lies at or below the bound of its bucket, and above the one before")
    func buckets() {
        for exponent in 0..<40 {
            for nanoseconds: UInt64 in [1 << exponent, (1 << exponent) + 1, 3 << exponent] {
                var histogram = Histogram.roundTrip
                histogram.observe(nanoseconds: nanoseconds)
                let seconds = Double(nanoseconds) / 1e9
                for (bound, count) in histogram.cumulative { #expect((count == 1) == (seconds <= bound)) }
            }
        }
    }

    @Test("Many durations at once count as one by one, a negative one as zero, and none as none")
    func many() {
        var (together, apart) = (Histogram.delivery, Histogram.delivery)
        together.observe(.milliseconds(3), count: 5)
        for _ in 0..<5 { apart.observe(.milliseconds(3)) }
        #expect(together == apart)
        #expect(together.sumSeconds == 0.015)
        together.observe(.seconds(-1), count: 0)
        #expect(together == apart)
        together.observe(.seconds(-1))
        #expect(together.sumSeconds == 0.015 && counts(together)[0] == 1)
    }

    @Test("Histograms of several threads add up")
    func merging() {
        var (left, right) = (Histogram.lateness, Histogram.lateness)
        left.observe(.milliseconds(1))
        right.observe(.milliseconds(8), count: 2)
        left.merge(right)
        #expect(left.count == 3 && left.sumSeconds == 0.017)
        #expect(counts(left).prefix(5) == [1, 1, 1, 3, 3])
    }

    @Test("Bounds are written short: as many digits as a person would")
    func digits() {
        let bounds = Histogram.roundTrip.cumulative.prefix(5).map { "\($0.boundSeconds)" }
        #expect(bounds == ["0.000125", "0.00025", "0.0005", "0.001", "0.002"])
    }
}
