/// Finds the time at which a pool could do with fewer connections.
///
/// No request has waited and no connection was stalled for a while, and the most streams that were open together would
/// have filled half of the others at most. A pool that grows again soon after it shrank waits twice as long the next
/// time, so that it does not open and close by turns. [ours]
struct PoolShrinking: Equatable, Sendable {
    private static let longestPatience = 64

    /// Streams that are open.
    private var inFlight = 0
    /// Most streams open together since `calmSince`.
    private var mostInFlight = 0
    private var calmSince = MonotonicTime(nanoseconds: 0)
    private var shrunkAt: MonotonicTime?
    /// Times `shrinkAfter`.
    private var patience = 1

    mutating func opened() {
        inFlight += 1
        mostInFlight = max(mostInFlight, inFlight)
    }

    mutating func closed(_ count: Int = 1) {
        inFlight -= count
    }

    /// The connections that are there are all needed.
    mutating func strained(now: MonotonicTime) {
        calmSince = now
        mostInFlight = inFlight
    }

    /// One connection more is opened.
    mutating func grew(now: MonotonicTime, shrinkAfter: Duration) {
        guard let shrunkAt else { return }
        let isSoon = shrunkAt + shrinkAfter * patience > now
        patience = isSoon ? min(patience * 2, Self.longestPatience) : 1
        self.shrunkAt = nil
    }

    /// There was no strain for long enough to judge.
    func isCalm(for shrinkAfter: Duration, now: MonotonicTime) -> Bool {
        calmSince + shrinkAfter * patience <= now
    }

    /// One connection less would do. Then, or if not, it is calm again no sooner than after the whole time.
    ///
    /// - Parameter streamsOfOthers: the limits of streams of the connections that would be left.
    mutating func isEnough(streamsOfOthers: Int, now: MonotonicTime) -> Bool {
        let isEnough = mostInFlight <= streamsOfOthers / 2
        strained(now: now)
        if isEnough { shrunkAt = now }
        return isEnough
    }
}
