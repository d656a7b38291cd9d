/// Percentiles of how long notifications took, without those that a take-over held up.
enum Percentile {
    /// The two stretches that are measured: before the kill, and after the backlog of the take-over was gone.
    struct Windows: Equatable, Sendable {
        var start: Int64
        var kill: Int64
        var caughtUp: Int64
        var end: Int64

        /// All of a notification's time lies in one of the stretches. One that was sent at the end may come later.
        func include(_ sample: DeliveryLedger.Sample) -> Bool {
            if sample.sent >= start, sample.accepted <= kill { return true }
            return sample.sent >= caughtUp && sample.sent <= end
        }

        var seconds: Double { Double(kill - start + end - caughtUp) / 1e9 }
    }

    /// The nearest-rank percentile in milliseconds; nil without samples.
    static func milliseconds(_ percent: Double, of sorted: [Int64]) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return Double(sorted[min(max(rank, 1), sorted.count) - 1]) / 1e6
    }
}
