/// Where applying a partition has to begin again so that all that was applied in the last while is applied once more.
///
/// It is about when a record was applied, not when it was published: one that waited for hours was applied a moment ago all
/// the same. Time in which nothing is applied does not count: that may be an outage of the server, and what came before it is
/// what may be lost. Time is an argument.
public struct ReplayWindow: Sendable {
    /// How far back it reaches; in fact up to 1/64 further, and beyond gaps.
    public let length: Duration

    private struct Step {
        /// The first moment at which records from `offset` on were applied, in ``elapsed``.
        var since: Duration
        var offset: Int64
    }

    /// Oldest first; offsets rise.
    private var steps: [Step] = []
    /// Time that counts.
    private var elapsed = Duration.zero
    private var last: MonotonicTime?

    public init(length: Duration) {
        self.length = length
    }

    /// Records from `offset` on are being applied.
    public mutating func applying(from offset: Int64, now: MonotonicTime) {
        if let last { elapsed += min(last.elapsed(until: now), grain) }
        last = now
        // Applied again: what was said of later records holds for longer now.
        while let last = steps.last, last.offset >= offset { steps.removeLast() }
        let reach = length + grain
        steps.removeAll { $0.since + reach <= elapsed }
        if let last = steps.last, elapsed < last.since + grain { return }
        steps.append(Step(since: elapsed, offset: offset))
    }

    /// The lowest offset that was applied within the window; nil: nothing was applied.
    public var start: Int64? { steps.first?.offset }

    private var grain: Duration { length / 64 }
}
