/// The pace of a command that may do only so much a second. Pure.
///
/// Time that passed unused is not made up for, but for a moment: after a wait it does not hurry.
struct CommandPace {
    /// Timers are late by a millisecond; without making up for that a high rate would never be reached.
    static let slack = Duration.milliseconds(10)

    private let perSecond: Int
    /// The moment from which on more may be done; nil: nothing was done yet.
    private var free: ContinuousClock.Instant?

    /// - Parameter perSecond: at least 1.
    init(perSecond: Int) {
        precondition(perSecond >= 1, "checked by the caller")
        self.perSecond = perSecond
    }

    /// Takes up so much, and returns the time to wait before it is done.
    mutating func delay(of count: Int, now: ContinuousClock.Instant) -> Duration {
        let start = max(now - Self.slack, free ?? now)
        free = start + .seconds(1) * count / perSecond
        return max(.zero, now.duration(to: start))
    }
}

/// A moment that comes again and again. Pure.
struct Pulse {
    private let interval: Duration
    private var last: ContinuousClock.Instant

    init(every interval: Duration, from begin: ContinuousClock.Instant) {
        self.interval = interval
        last = begin
    }

    /// True once in each interval.
    mutating func isDue(now: ContinuousClock.Instant) -> Bool {
        guard last.duration(to: now) >= interval else { return false }
        last = now
        return true
    }
}
