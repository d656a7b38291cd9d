/// Whether a topic of a shard works, hence whether its notifications are sent or parked.
///
///     closed ── failed ──▶ open ── time is over, nothing in flight ──▶ half-open ── progress ──▶ closed
///                           ▲                                             │
///                           └──────────────── failed ────────────────────┘
///
/// Half-open lets one notification per lane through. After a gateway that called too many tokens invalid, one notification
/// proves nothing: a sample is judged then, and the refusals in it count for nothing until it is. Pure: time and randomness
/// are arguments.
public struct TopicBreaker: Equatable, Sendable {
    /// Why a topic does not work.
    public enum Reason: Equatable, Sendable {
        /// The gateway does not take the topic's certificate.
        case certificateRefused
        /// The gateway answered that the topic is wrong (status 3 or 6).
        case topicRefused
        /// Too many tokens were called invalid, see ``InvalidTokenGuard``.
        case tokensDoubted
        /// Something waits, and for too long nothing went through.
        case unreachable
    }

    public enum State: Equatable, Sendable {
        case closed
        case open(Reason, until: MonotonicTime)
        case halfOpen(Reason)
    }

    /// What a sample has shown.
    struct Sample: Equatable {
        var accepted = 0
        var refused = 0
    }

    /// The wait from an opening to the next probe.
    public let probe: Backoff
    /// For how long something may wait without anything going through.
    public let patience: Duration
    /// Share of refused tokens in a sample above which they are not believed, 0 … 1.
    public let refusedShare: Double
    /// Judged notifications of a sample.
    public let sampleSize: Int

    public private(set) var state = State.closed
    /// Openings in a row.
    private var failures = 0
    private var sample = Sample()
    /// Since when something waits and nothing has gone through.
    private var stuckSince: MonotonicTime?

    public init(probe: Backoff, patience: Duration, refusedShare: Double, sampleSize: Int) {
        precondition(patience > .zero && (0...1).contains(refusedShare) && sampleSize >= 1)
        self.probe = probe
        self.patience = patience
        self.refusedShare = refusedShare
        self.sampleSize = sampleSize
    }

    // MARK: What stands

    public var isClosed: Bool { state == .closed }

    public var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    public var isHalfOpen: Bool {
        if case .halfOpen = state { true } else { false }
    }

    public var reason: Reason? {
        switch state {
        case .closed: nil
        case .open(let reason, _), .halfOpen(let reason): reason
        }
    }

    /// What is still answered while the topic is parked for its answers counts for nothing: after a probe that failed, too.
    public var doubtsTokens: Bool {
        if case .open(.tokensDoubted, _) = state { true } else { false }
    }

    /// A refused token is a suspect until the sample is judged: no tombstone, no outcome.
    public var holdsRefusals: Bool { state == .halfOpen(.tokensDoubted) }

    // MARK: Inputs

    /// Begins with a topic of which is known only that it did not work under the worker before.
    public mutating func inherit() {
        guard isClosed else { return }
        state = .halfOpen(.unreachable)
    }

    /// The topic does not work. While it is open that is no news, but no probe follows it sooner than any other.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func failed(_ reason: Reason, now: MonotonicTime, random: UInt64) {
        if case .open(let first, let until) = state {
            state = .open(first, until: max(until, now + probe.floor))
            return
        }
        failures += 1
        state = .open(reason, until: now + probe.delay(failures: failures, random: random))
        stuckSince = nil
    }

    /// A connection came to an end that says nothing about the topic, or none came about: a failure of a probe only.
    public mutating func connectionFailed(now: MonotonicTime, random: UInt64) {
        guard case .halfOpen(let reason) = state else { return }
        failed(reason, now: now, random: random)
    }

    /// Time goes by.
    ///
    /// - Parameters:
    ///   - isQuiet: nothing of the topic is in flight, and what waited was handed over.
    public mutating func tick(isQuiet: Bool, now: MonotonicTime) {
        guard case .open(let reason, let until) = state, isQuiet, until <= now else { return }
        state = .halfOpen(reason)
        sample = Sample()
        stuckSince = nil
    }

    /// Looks for a standstill.
    ///
    /// - Parameters:
    ///   - isWaiting: something is not handed to a connection, and time or the budget do not forbid it.
    ///   - allowance: time that silence takes to settle what is in flight, on top of the patience.
    ///   - random: 64 random bits.
    public mutating func noteWaiting(
        _ isWaiting: Bool,
        allowance: Duration,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) {
        guard isWaiting, !isOpen else {
            stuckSince = nil
            return
        }
        guard let since = stuckSince else {
            stuckSince = now
            return
        }
        if since + patience + allowance <= now { failed(.unreachable, now: now, random: random()) }
    }

    /// Notifications were accepted, proven or presumed.
    public mutating func accepted(_ count: Int) {
        guard count > 0 else { return }
        stuckSince = nil
        guard case .halfOpen(let reason) = state else { return }
        guard reason == .tokensDoubted else { return close() }
        sample.accepted += count
        if Double(sample.accepted) >= (1 - refusedShare) * Double(sampleSize) { close() }
    }

    /// A notification was refused for good because of its content: the gateway works.
    public mutating func contentRefused() {
        stuckSince = nil
        guard case .halfOpen(let reason) = state, reason != .tokensDoubted else { return }
        close()
    }

    /// A token was called invalid.
    ///
    /// - Returns: whether it is a suspect, to be held until the sample is judged; by this very call, it may be.
    public mutating func tokenRefused(now: MonotonicTime, random: UInt64) -> Bool {
        stuckSince = nil
        guard case .halfOpen(let reason) = state else { return false }
        guard reason == .tokensDoubted else {
            close()
            return false
        }
        sample.refused += 1
        if Double(sample.refused) > refusedShare * Double(sampleSize) { failed(reason, now: now, random: random) }
        return true
    }

    /// There is nothing more to send: the sample is judged as it is.
    public mutating func sampleExhausted(now: MonotonicTime, random: UInt64) {
        guard holdsRefusals, sample.accepted + sample.refused > 0 else { return }
        if Double(sample.refused) > refusedShare * Double(sample.accepted + sample.refused) {
            failed(.tokensDoubted, now: now, random: random)
        } else {
            close()
        }
    }

    private mutating func close() {
        state = .closed
        failures = 0
        stuckSince = nil
    }
}
