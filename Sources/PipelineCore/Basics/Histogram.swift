/// Counts durations in buckets whose bounds double.
///
/// The bounds are fixed when it is made, so that histograms of several threads and processes add up. An observation
/// finds its bucket without a search and allocates nothing.
public struct Histogram: Sendable, Equatable {
    /// The bound of the first bucket.
    private let firstNanoseconds: UInt64
    /// Observations by bucket; the last one has no bound.
    private var counts: [UInt64]
    private var sumNanoseconds: UInt64 = 0

    /// - Parameters:
    ///   - first: the bound of the first bucket, at least 1 ns; the next are twice, four times, … as long.
    ///   - bounds: number of bounds, 1...40.
    public init(first: Duration, bounds: Int) {
        precondition((1...40).contains(bounds) && first.wholeNanoseconds > 0)
        firstNanoseconds = first.wholeNanoseconds
        counts = [UInt64](repeating: 0, count: bounds + 1)
    }

    /// Notes `count` durations of the same length.
    public mutating func observe(_ duration: Duration, count: Int = 1) {
        observe(nanoseconds: duration.wholeNanoseconds, count: count)
    }

    public mutating func observe(nanoseconds: UInt64, count: Int = 1) {
        guard count > 0 else { return }
        // The number of doublings of the first bound that reach the duration; a bound belongs to its bucket.
        let ratio = (max(nanoseconds, 1) - 1) / firstNanoseconds
        counts[min(UInt64.bitWidth - ratio.leadingZeroBitCount, counts.count - 1)] += UInt64(count)
        sumNanoseconds &+= nanoseconds &* UInt64(count)
    }

    /// Adds the observations of another histogram, which has the same bounds.
    public mutating func merge(_ other: Histogram) {
        precondition(firstNanoseconds == other.firstNanoseconds && counts.count == other.counts.count)
        for index in counts.indices { counts[index] += other.counts[index] }
        sumNanoseconds &+= other.sumNanoseconds
    }

    /// The bounds of the buckets but for the last one, which has none; ascending.
    public var boundsSeconds: [Double] { cumulative.dropLast().map(\.boundSeconds) }

    /// Observations by bucket, one more than there are bounds.
    public var countsByBucket: [UInt64] { counts }

    /// Number of observations.
    public var count: UInt64 { counts.reduce(0, +) }

    /// Sum of the observed durations.
    public var sumSeconds: Double { Double(sumNanoseconds) / 1e9 }

    /// The bounds with the number of observations up to each, ascending. The last bound is infinite.
    public var cumulative: [(boundSeconds: Double, count: UInt64)] {
        var sum: UInt64 = 0
        return counts.indices.map { index in
            sum += counts[index]
            let isLast = index == counts.count - 1
            // Divided last, so that decimal bounds stay short.
            let bound = isLast ? Double.infinity : Double(firstNanoseconds << UInt64(index)) / 1e9
            return (bound, sum)
        }
    }
}

extension Histogram {
    /// For the way of notifications: from 1 ms, the bounds end at some 70 minutes.
    public static var delivery: Histogram { Histogram(first: .milliseconds(1), bounds: 23) }

    /// For answers of servers: from an eighth of a millisecond, the bounds end at 8 s.
    public static var roundTrip: Histogram { Histogram(first: .microseconds(125), bounds: 17) }

    /// For the lateness of event loops: from 1 ms, the bounds end at 65 s.
    public static var lateness: Histogram { Histogram(first: .milliseconds(1), bounds: 17) }

    /// For the lateness of a shard's ticks, up to 12.8 s. One bound is 50 ms: a record may not hold a shard for longer.
    public static var tickLateness: Histogram { Histogram(first: .nanoseconds(781_250), bounds: 15) }
}
