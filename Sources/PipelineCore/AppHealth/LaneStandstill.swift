/// A clock that notices when one lane stands still.
///
/// Excused time does not count, and after it the clock starts anew. Only now has the lane what it waited for (a
/// connection, or leave to send), and unused time before the excuse is no reason to shorten the new chance. A lane that
/// is excused again and again is never reported here; its failed connections and probes are counted elsewhere.
public struct LaneStandstill: Equatable, Sendable {
    /// The longest time that work may wait without anything settling; may change at any time.
    public var patience: Duration {
        didSet { precondition(patience > .zero) }
    }
    /// The time since when work waits and nothing settles; nil while there is no work, or the lane is excused.
    private var since: MonotonicTime?
    private var settledEnd: UInt64 = 0
    private var isReported = false

    /// - Parameter patience: the longest time that work may wait without anything settling.
    public init(patience: Duration) {
        precondition(patience > .zero)
        self.patience = patience
    }

    /// Looks at the lane.
    ///
    /// - Parameters:
    ///   - hasWork: something is in flight or waiting.
    ///   - isExcused: the lane waits for the connection budget, or for leave to send.
    ///   - settledEnd: moves when something settles.
    ///   - allowance: time for silence to settle the notifications in flight, on top of the patience.
    /// - Returns: the lane stands still; true once per standstill.
    public mutating func observeLane(
        hasWork: Bool,
        isExcused: Bool,
        settledEnd: UInt64,
        allowance: Duration,
        now: MonotonicTime
    ) -> Bool {
        guard hasWork, !isExcused else {
            since = nil
            return false
        }
        guard let since, settledEnd == self.settledEnd else {
            since = now
            self.settledEnd = settledEnd
            isReported = false
            return false
        }
        guard !isReported, since + patience + allowance <= now else { return false }
        isReported = true
        return true
    }
}
