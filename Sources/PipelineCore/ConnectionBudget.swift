/// A limit on new connections per minute, as a token bucket, so that no mass of errors becomes a reconnect storm.
///
/// The service treats rapid connecting as denial of service ([10]). The budget applies to every new connection, also to
/// those that follow an answered error, which need no back-off.
public struct ConnectionBudget: Sendable {
    private let perMinute: Int
    private let nanosecondsPerConnection: UInt64
    private var available: Int
    private var refilledAt: MonotonicTime

    /// - Parameter perMinute: connections a minute, also the largest burst; 1 or more.
    public init(perMinute: Int, now: MonotonicTime) {
        precondition(perMinute >= 1)
        self.perMinute = perMinute
        nanosecondsPerConnection = max(1, 60_000_000_000 / UInt64(perMinute))
        available = perMinute
        refilledAt = now
    }

    /// Takes one connection out of the budget.
    ///
    /// - Returns: nil if it was granted, else the time from which to ask again.
    public mutating func take(now: MonotonicTime) -> MonotonicTime? {
        let elapsed = now.nanoseconds - min(now.nanoseconds, refilledAt.nanoseconds)
        let earned = elapsed / nanosecondsPerConnection
        if earned > 0 {
            available = min(perMinute, available + Int(min(earned, UInt64(perMinute))))
            refilledAt.nanoseconds += earned * nanosecondsPerConnection
        }
        guard available > 0 else {
            return refilledAt + .nanoseconds(Int64(nanosecondsPerConnection))
        }
        available -= 1
        return nil
    }
}
