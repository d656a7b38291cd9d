/// Counts events against a number per second, without a memory of each: so many may come at once, and then that many a
/// second (the generic cell rate algorithm).
struct EventRateLimit {
    private static let second: Int64 = 1_000_000_000

    let perSecond: Int
    private let interval: Int64
    /// The time until which the events so far would take if they came evenly, in nanoseconds.
    private var busyUntil: Int64 = .min

    /// - Parameter perSecond: 1…10⁹.
    init(perSecond: Int) {
        precondition((1...1_000_000_000).contains(perSecond), "a limit per second is from 1 to a billion")
        self.perSecond = perSecond
        interval = Self.second / Int64(perSecond)
    }

    /// Counts one event. Returns false if it is one too many.
    ///
    /// - Parameter now: nanoseconds of a clock that does not go backwards.
    mutating func allows(now: Int64) -> Bool {
        busyUntil = max(busyUntil, now) + interval
        return busyUntil - now <= Self.second
    }
}
