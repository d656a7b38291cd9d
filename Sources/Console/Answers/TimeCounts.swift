import PipelineCore

/// Notifications by the time that they took, counted in the buckets of ``Histogram/delivery``. Pure.
struct TimeCounts: Equatable, Sendable {
    /// The bounds of all buckets but the last.
    static let boundsSeconds = Histogram.delivery.boundsSeconds

    /// By bucket, at most ``ConsoleLimits/count`` each.
    private var counts: [Int]

    /// - Parameter counts: by bucket; those that are missing are 0, and more than there are buckets do not count.
    init(_ counts: [Int] = []) {
        let buckets = Self.boundsSeconds.count + 1
        self.counts = Array((counts + Array(repeating: 0, count: buckets)).prefix(buckets))
    }

    var total: Int { counts.reduce(0, +) }

    mutating func add(_ other: TimeCounts) {
        for index in counts.indices { counts[index] = min(counts[index] + other.counts[index], ConsoleLimits.count) }
    }

    /// The growth since a former state of the same counts; a count that fell has not grown.
    func grown(since former: TimeCounts) -> TimeCounts {
        TimeCounts(zip(counts, former.counts).map { max(0, $0 - $1) })
    }

    /// A count is lower than in a former state.
    func fell(behind later: TimeCounts) -> Bool { zip(counts, later.counts).contains { $1 < $0 } }

    /// The time that a share of them did not exceed, as Prometheus' `histogram_quantile` reckons: times are thought to
    /// lie evenly within a bucket, and those of the last one at its beginning.
    ///
    /// - Parameter share: 0...1.
    /// - Returns: seconds; nil: there is no notification.
    func quantile(_ share: Double) -> Double? {
        let total = total
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below = 0
        for (index, upper) in Self.boundsSeconds.enumerated() {
            let count = counts[index]
            if count > 0, Double(below + count) >= rank {
                let lower = index == 0 ? 0 : Self.boundsSeconds[index - 1]
                return lower + (upper - lower) * max(0, rank - Double(below)) / Double(count)
            }
            below += count
        }
        return Self.boundsSeconds.last
    }
}
