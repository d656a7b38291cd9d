/// The limits that connections of both transports have.
protocol ConnectionLimits {
    /// The idle time after which a connection is closed.
    var idleTimeout: Duration { get }
    /// The wait after failures of connections.
    var backoff: Backoff { get }
    /// The wait after a refused certificate.
    var topicBackoff: Backoff { get }
}

/// Decides when a connection is to be open though nothing is to be sent, so that the next notification finds it.
///
/// The wish is said again and again, and lapses soon after it was said last. A gateway that ends such connections
/// unused, or takes none, is tried ever more rarely. Notifications do not wait for that: all such ends together count
/// as one failure for them. [ours]
///
/// Pure: time and randomness are arguments.
struct WarmConnection: Equatable, Sendable {
    /// The time until a wish lapses. Topics at rest say it a few times a second, on a loop that is slow more rarely.
    static let lease = Duration.seconds(5)

    private var wantedUntil = MonotonicTime(nanoseconds: 0)
    private var opensFrom = MonotonicTime(nanoseconds: 0)
    /// Ends in a row, each after a short life, without a notification in between.
    private var ends = 0

    /// The wish was said, and was not forgotten since.
    var wasWanted: Bool { MonotonicTime(nanoseconds: 0) < wantedUntil }

    /// A connection is to be open.
    func isWanted(now: MonotonicTime) -> Bool { now < wantedUntil }

    /// A connection is to be opened, if there is none.
    func isDue(now: MonotonicTime) -> Bool { isWanted(now: now) && opensFrom <= now }

    mutating func want(now: MonotonicTime) { wantedUntil = now + Self.lease }

    /// Forgets a wish that has lapsed.
    mutating func lapse(now: MonotonicTime) {
        if !isWanted(now: now) { wantedUntil = MonotonicTime(nanoseconds: 0) }
    }

    /// The budget of new connections is spent until `time`.
    mutating func postpone(until time: MonotonicTime) { opensFrom = time }

    /// Counts the failure of a connection, or of the attempt to make one. A long life, or a notification settled since
    /// the last end for warmth alone, makes it the first in a row.
    ///
    /// - Parameters:
    ///   - isForWarmth: nothing was to be sent, and the wish holds, or held when the connection was begun. Such an end
    ///     counts for warmth alone.
    ///   - lived: the time for which the connection was open; nil: it was an attempt.
    ///   - isRefused: the peer refused the certificate, so that the next connection waits for longer.
    ///   - failures: in a row without a notification settled in between, as notifications wait for them.
    ///   - random: 64 random bits.
    /// - Returns: the wait of notifications for the next connection.
    mutating func countFailure(
        isForWarmth: Bool,
        lived: Duration?,
        isRefused: Bool,
        failures: inout Int,
        limits: some ConnectionLimits,
        now: MonotonicTime,
        random: UInt64
    ) -> Duration {
        let backoff = isRefused ? limits.topicBackoff : limits.backoff
        guard isForWarmth else {
            failures += 1
            return backoff.delay(failures: failures, random: random)
        }
        let isLong = lived.map { limits.idleTimeout / 2 <= $0 } ?? false
        ends = failures == 0 || isLong ? 1 : ends + 1
        opensFrom = now + backoff.delay(failures: ends, random: random)
        failures = max(1, failures)
        return limits.backoff.delay(failures: failures, random: random)
    }
}
