/// Where applying a partition has to begin again so that all that was applied in the last while is applied once more.
///
/// It is about when a record was applied, not when it was published: one that waited for hours was applied a moment ago all
/// the same. Time is an argument.
public struct ReplayWindow: Sendable {
    /// How far back it reaches; in fact up to 1/64 further.
    public let length: Duration

    private struct Step {
        /// The first moment at which records from `offset` on were applied.
        var since: MonotonicTime
        var offset: Int64
    }

    /// Oldest first; offsets rise.
    private var steps: [Step] = []

    public init(length: Duration) {
        self.length = length
    }

    /// Records from `offset` on are being applied.
    public mutating func applying(from offset: Int64, now: MonotonicTime) {
        // Applied again: what was said of later records holds for longer now.
        while let last = steps.last, last.offset >= offset { steps.removeLast() }
        if let last = steps.last, now < last.since + grain { return }
        expire(now: now)
        steps.append(Step(since: now, offset: offset))
    }

    /// The lowest offset that was applied within the window; nil: none was.
    public mutating func start(now: MonotonicTime) -> Int64? {
        expire(now: now)
        return steps.first?.offset
    }

    private var grain: Duration { length / 64 }

    private mutating func expire(now: MonotonicTime) {
        let reach = length + grain
        steps.removeAll { $0.since + reach <= now }
    }
}
