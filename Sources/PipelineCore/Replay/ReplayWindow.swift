/// The offset to begin at for applying everything within the window once more.
///
/// The window counts from the time of applying, not of publishing: a record that waited for hours counts as new if it
/// was applied a moment ago. Time in which nothing is applied does not count: it may be an outage of the server, and
/// the changes just before it may be lost. Time is an argument.
public struct ReplayWindow: Sendable {
    /// The length of the window. It really reaches up to 1/64 further, and beyond gaps.
    public let length: Duration

    private struct Step {
        /// The first moment at which records from `offset` on were applied, in ``elapsed``.
        var since: Duration
        var offset: Int64
    }

    /// Oldest first; offsets rise.
    private var steps: [Step] = []
    /// The time that counts, without gaps.
    private var elapsed = Duration.zero
    private var last: MonotonicTime?

    public init(length: Duration) {
        self.length = length
    }

    /// Records from `offset` on are being applied.
    public mutating func applying(from offset: Int64, now: MonotonicTime) {
        if let last { elapsed += min(last.elapsed(until: now), grain) }
        last = now
        // Applied again: this step replaces those of later records.
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
