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

    /// A connection ended while nothing was to be sent, or could not be made.
    ///
    /// - Parameters:
    ///   - isFirst: a notification was settled since the last such end, or the connection was open for half of the
    ///     idle timeout.
    ///   - random: 64 random bits.
    mutating func ended(isFirst: Bool, _ backoff: Backoff, now: MonotonicTime, random: UInt64) {
        ends = isFirst ? 1 : ends + 1
        opensFrom = now + backoff.delay(failures: ends, random: random)
    }
}
