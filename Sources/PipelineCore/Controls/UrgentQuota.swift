/// Most tokens of an app that stay in the urgent lane, in time.
///
/// A bucket that holds the quota of one minute and drains evenly. It begins empty, so that after a start or a take-over
/// urgent records stay. A record stays whole, or not at all; one that does not fit takes nothing. So in any stretch of
/// time the quota of that time stays at most, and one bucket more. Pure.
public struct UrgentQuota: Equatable, Sendable {
    /// Tokens a minute; 0: none stays.
    public private(set) var perMinute: Double
    /// Tokens that count against the quota; they drain.
    public private(set) var used = 0.0
    private var drainedAt: MonotonicTime

    /// Parts of a quota may add up to a little less than the whole.
    private static let tolerance = 1e-6

    public init(perMinute: Double, now: MonotonicTime) {
        precondition(perMinute >= 0 && perMinute.isFinite, "a quota is a number from 0")
        self.perMinute = perMinute
        drainedAt = now
    }

    /// Tokens that it holds. At least one: a small part of a quota lets one stay in several minutes.
    private var size: Double { perMinute > 0 ? max(1, perMinute) : 0 }

    /// Drains what the time since the last call is worth, and changes the quota from now on. What was used falls with
    /// it, for partitions that go take their part along; it does not rise.
    public mutating func change(perMinute: Double, now: MonotonicTime) {
        precondition(perMinute >= 0 && perMinute.isFinite, "a quota is a number from 0")
        used = max(0, used - drainedAt.elapsed(until: now) / .seconds(60) * self.perMinute)
        drainedAt = now
        if perMinute < self.perMinute { used *= perMinute / self.perMinute }
        self.perMinute = perMinute
    }

    /// A record of so many tokens is within the quota, and counts from now on.
    public mutating func admits(_ tokens: Int) -> Bool {
        guard used + Double(tokens) <= size + Self.tolerance else { return false }
        take(tokens)
        return true
    }

    /// A record stays, be it over the quota.
    public mutating func take(_ tokens: Int) { used += Double(tokens) }

    /// Tokens that were counted are fed anew, and counted then.
    public mutating func giveBack(_ tokens: Int) { used = max(0, used - Double(tokens)) }
}
