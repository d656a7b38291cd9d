/// Limits the rate of background work: items a second, checked after each batch.
///
/// A batch over the rate is followed by a wait; idle time is not made up for.
public struct SweepPace: Sendable {
    /// Items a second, at least 1.
    public private(set) var rate: Int
    private var free: MonotonicTime?

    public init(rate: Int) {
        precondition(rate >= 1, "checked by the configuration")
        self.rate = rate
    }

    /// Another rate counts from the next batch on; a wait that is on stays.
    public mutating func use(rate: Int) {
        precondition(rate >= 1, "checked by the configuration")
        self.rate = rate
    }

    /// A batch of items was looked at.
    public mutating func looked(at count: Int, now: MonotonicTime) {
        let begin = max(free ?? now, now)
        let seconds = count / rate
        let rest = Int64(count % rate) * 1_000_000_000 / Int64(rate)
        free = begin + .seconds(seconds) + .nanoseconds(rest)
    }

    /// The wait before the next batch.
    public func wait(now: MonotonicTime) -> Duration {
        free.map { now.elapsed(until: $0) } ?? .zero
    }
}
