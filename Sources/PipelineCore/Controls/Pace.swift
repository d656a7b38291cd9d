/// Most notifications of a topic in time: a bucket that fills at the pace and holds one second of it.
///
/// It begins empty, so that a start or a take-over sends nothing at once. A record is taken in whole while something
/// is in the bucket; what its tokens take beyond that is a debt, which the next ones wait for. So the mean is kept
/// whatever the size of records. Pure.
public struct Pace: Equatable, Sendable {
    /// Notifications per second; 0: none may go.
    public private(set) var perSecond: Double
    /// Notifications that may go at once; below 0: a debt.
    public private(set) var level = 0.0
    private var filledAt: MonotonicTime

    public init(perSecond: Double, now: MonotonicTime) {
        precondition(perSecond >= 0 && perSecond.isFinite, "a pace is a number from 0")
        self.perSecond = perSecond
        filledAt = now
    }

    /// The most that may go at once. At least one: a slow pace lets one go in several seconds.
    private var size: Double { max(1, perSecond) }

    /// Changes the pace from now on. A debt stays.
    public mutating func change(perSecond: Double, now: MonotonicTime) {
        precondition(perSecond >= 0 && perSecond.isFinite, "a pace is a number from 0")
        refill(now: now)
        self.perSecond = perSecond
        level = min(level, size)
    }

    /// Adds what the time since the last refill is worth.
    public mutating func refill(now: MonotonicTime) {
        let elapsed = filledAt.elapsed(until: now)
        filledAt = now
        level = min(size, level + elapsed / .seconds(1) * perSecond)
    }

    /// A record of so many tokens is taken in.
    public mutating func take(_ count: Int) { level -= Double(count) }

    /// Notifications that were taken in are fed anew, and taken then.
    public mutating func giveBack(_ count: Int) { level = min(size, level + Double(count)) }

    /// Another record may be taken in.
    public var admits: Bool { level > 0 }

    /// It pays to look for further records of a topic that lags.
    public var isHalfFull: Bool { level >= size / 2 }
}
