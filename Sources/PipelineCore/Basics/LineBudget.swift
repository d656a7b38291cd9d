/// Limits log lines of one kind, of which a publisher's mistake would make millions: a burst, then so many a second.
///
/// Lines beyond it are counted, and their number stands in the next one. Pure.
public struct LineBudget: Equatable, Sendable {
    private let burst: Double
    private let perSecond: Double
    private var level: Double
    private var filledAt: MonotonicTime
    private var passedOver = 0

    public init(burst: Int, perSecond: Int, now: MonotonicTime) {
        precondition(burst >= 1 && perSecond >= 1)
        self.burst = Double(burst)
        self.perSecond = Double(perSecond)
        level = Double(burst)
        filledAt = now
    }

    /// Takes one line.
    ///
    /// - Returns: the number of lines that were passed over since the last one; nil: this one is passed over.
    public mutating func take(now: MonotonicTime) -> Int? {
        level = min(burst, level + filledAt.elapsed(until: now) / .seconds(1) * perSecond)
        filledAt = max(filledAt, now)
        guard level >= 1 else {
            passedOver += 1
            return nil
        }
        level -= 1
        defer { passedOver = 0 }
        return passedOver
    }
}
