/// The health of one topic (a bundle in an environment) for all shards of a process.
///
///     works ── failed ──▶ stopped ── beginProbe, when the wait is over ──▶ probing ── progress ──▶ works
///                            ▲                                                │
///                            └────── failed, or the lease ran out ────────────┘
///
/// One shard probes, under a lease, with one notification at a time. Only its answers decide the probe, because other
/// shards receive answers to notifications from before the stop. A gateway that called too many tokens invalid is
/// doubted: a probe of it judges a sample. Refusals of tokens wait for acceptances over a newer connection, see
/// ``trustedThrough``.
///
/// Pure: time and randomness are arguments. Every share is kept in millionths, so that no rounding decides.
public struct AppHealth: Equatable, Sendable {
    /// The reason why a topic does not work.
    public enum Reason: String, Sendable, CaseIterable {
        /// The gateway does not take the topic's certificate.
        case certificateRefused = "certificate-refused"
        /// The gateway answered that the topic is wrong (status 3 or 6; over HTTP/2 403, or ``TopicRefusals``).
        case topicRefused = "topic-refused"
        /// The gateway called too many tokens invalid.
        case tokensDoubted = "tokens-doubted"
        /// The service refused the provider of all topics of a team (HTTP/2).
        case teamRefused = "team-refused"
        /// The service answers with troubles of its own (status 500, 503 over HTTP/2).
        case serviceTrouble = "service-trouble"
        /// The environment's proxy does not take the configured login.
        case proxyRefused = "proxy-refused"
        /// A lane stood still for too long, see ``LaneStandstill``.
        case unreachable

        /// The credential is to blame, so that another one may end the stop.
        var concernsCredential: Bool {
            switch self {
            case .certificateRefused, .topicRefused, .teamRefused: true
            case .tokensDoubted, .serviceTrouble, .unreachable, .proxyRefused: false
            }
        }
    }

    public enum State: Equatable, Sendable {
        case works
        /// Nothing goes out. From `until` on one shard may probe.
        case stopped(Reason, until: MonotonicTime)
        /// A lease: only that shard sends, one notification at a time. Without an answer by `until` the probe has
        /// failed.
        case probing(Reason, shard: Int, until: MonotonicTime)

        /// The reason of the stop being probed, or to be probed; nil if the topic works.
        public var reason: Reason? {
            switch self {
            case .works: nil
            case .stopped(let reason, _), .probing(let reason, _, _): reason
            }
        }
    }

    /// The connection's history before a refusal of a token.
    public enum RefusalStanding: Sendable {
        /// The connection had accepted something.
        case afterAcceptance
        /// The connection had accepted nothing.
        case first
        /// The connection had accepted nothing, and the token was accepted lately: the gateway may be wrong.
        case firstThoughKnown
    }

    public struct Limits: Equatable, Sendable {
        /// The wait from a stop to the next probe.
        public var probe: Backoff
        /// Longest time from the grant, or from the prober's last answer, to the next answer; waits for the connection
        /// budget do not count.
        public var probeTimeout: Duration
        /// Share of refused tokens among judged notifications above which they are not believed, 0 … 1.
        ///
        /// 1: the gateway is never doubted. 0: one refused token in a full sample stops the topic, and none is
        /// tombstoned.
        public var refusedShare: Double
        /// Least number of judged notifications before the share is looked at, 1 or more.
        public var refusedSample: Int
        /// Judged notifications of a probe of a doubted gateway, 1 or more.
        public var probeSample: Int
        /// Refusals that may wait for trust, 1 or more; 8 bytes each.
        public var pendingTombstones: Int

        public init(
            probe: Backoff,
            probeTimeout: Duration,
            refusedShare: Double,
            refusedSample: Int,
            probeSample: Int,
            pendingTombstones: Int
        ) {
            self.probe = probe
            self.probeTimeout = probeTimeout
            self.refusedShare = refusedShare
            self.refusedSample = refusedSample
            self.probeSample = probeSample
            self.pendingTombstones = pendingTombstones
        }

        fileprivate var shareInMillionths: Int { Int((refusedShare * Double(AnswerCounts.whole)).rounded()) }

        fileprivate func check() {
            precondition(probeTimeout > .zero && (0...1).contains(refusedShare))
            precondition(refusedSample >= 1 && probeSample >= 1 && pendingTombstones >= 1)
        }
    }

    private var limits: Limits
    /// `limits.refusedShare` in millionths.
    private var share: Int

    public private(set) var state = State.works
    /// Stops in a row.
    private var failures = 0
    /// Latest answers, at all shards; kept during a probe for another reason.
    private var latest = AnswerCounts()
    /// Answers to the prober of a doubted gateway.
    private var sample = AnswerCounts()
    private var trust: TokenTrust
    private var refusals = TopicRefusals()

    public init(limits: Limits) {
        limits.check()
        self.limits = limits
        share = limits.shareInMillionths
        trust = TokenTrust(share: share, limit: limits.pendingTombstones)
    }

    /// Uses other limits from now on. A stop or a lease that is on ends when it would have ended; the answers so far
    /// are judged by the new share and sample. How many refusals may wait for trust does not change.
    public mutating func use(_ changed: Limits) {
        changed.check()
        let pending = limits.pendingTombstones
        limits = changed
        limits.pendingTombstones = pending
        guard changed.shareInMillionths != share else { return }
        share = changed.shareInMillionths
        trust.use(share: share)
    }

    // MARK: State

    public var works: Bool { state == .works }

    public var isStopped: Bool {
        if case .stopped = state { true } else { false }
    }

    public var reason: Reason? { state.reason }

    /// The shard holds the lease, even if it has run out.
    public func isProbing(by shard: Int) -> Bool {
        if case .probing(_, shard, _) = state { true } else { false }
    }

    /// Tombstones of refusals with tickets up to this may be written; never falls.
    ///
    /// Refusals wait in the order of their tickets. An acceptance over a connection opened at or after the oldest
    /// refusal pays for it: share / (1 − share) refusals each, hence one each with a share of a half, all with 1.
    /// The credit left when no such refusal waits is forgotten: none is kept for later refusals. While the gateway is
    /// doubted nothing is paid, and the acceptances of a probe's sample never pay.
    public var trustedThrough: UInt64 { trust.trustedThrough }

    /// Unwritten tombstones of refusals with tickets up to this are never written; never falls.
    ///
    /// A connection that begins with the refusal of a recently accepted token takes the trust from all waiting
    /// refusals, and from its own. So does a long row of connections that begin with a refusal; and so does time.
    public var distrustedThrough: UInt64 { trust.distrustedThrough }

    // MARK: Failures

    /// Stops the topic. If it is stopped already, only the next probe may move: it comes no sooner than the floor of
    /// the back-off from now.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func failed(_ reason: Reason, now: MonotonicTime, random: UInt64) {
        if case .stopped(let first, let until) = state {
            state = .stopped(first, until: max(until, now + limits.probe.floor))
            return
        }
        failures += 1
        state = .stopped(reason, until: now + limits.probe.delay(failures: failures, random: random))
    }

    /// A connection ended, or failed to open, without a finding about the topic: a failure of a probe only.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func connectionFailed(shard: Int, now: MonotonicTime, random: UInt64) {
        guard let reason, isProbing(by: shard) else { return }
        failed(reason, now: now, random: random)
    }

    // MARK: Answers

    /// Notifications were accepted, proven or presumed.
    ///
    /// - Parameter connectionOpenedAt: the opening time of the connection that carried all of them.
    public mutating func accepted(_ count: Int, connectionOpenedAt: MonotonicTime, shard: Int, now: MonotonicTime) {
        guard count > 0 else { return }
        guard reason != .tokensDoubted else {
            guard isProbing(by: shard) else { return }
            sample.accepted += count
            renewLease(now: now)
            if sample.passes(limits.probeSample, share: share) { recover() }
            return
        }
        latest.accepted += count
        latest.forget(beyond: limits.refusedSample)
        trust.pay(count, connectionOpenedAt: connectionOpenedAt, now: now)
        if isProbing(by: shard) { recover() }
    }

    /// Takes wrongly presumed acceptances back from the judged answers, never below 0.
    ///
    /// Refusals that they may have paid for stay trusted. The next judgement is at the next refusal or tick.
    public mutating func presumedWrong(_ count: Int) {
        guard count > 0 else { return }
        switch state {
        case .stopped(.tokensDoubted, _): break
        case .probing(.tokensDoubted, _, _): sample.accepted = max(0, sample.accepted - count)
        default: latest.accepted = max(0, latest.accepted - count)
        }
    }

    /// A notification was refused for its content: the gateway works, unless it is doubted for its refusals of tokens.
    public mutating func contentRefused(shard: Int, now: MonotonicTime) {
        guard isProbing(by: shard) else { return }
        if reason == .tokensDoubted { renewLease(now: now) } else { recover() }
    }

    /// A token was called invalid.
    ///
    /// - Parameters:
    ///   - standing: the connection's history before the refusal.
    ///   - random: 64 random bits.
    /// - Returns: the ticket of the refusal, ascending from 1; 0: never to be tombstoned, because the gateway seems to
    ///   be wrong, too many wait or the share is 0.
    public mutating func tokenRefused(
        shard: Int,
        _ standing: RefusalStanding = .afterAcceptance,
        now: MonotonicTime,
        random: UInt64
    ) -> UInt64 {
        var ticket: UInt64 = 0
        switch standing {
        case .afterAcceptance: ticket = trust.admit(refusedAt: now)
        case .first: ticket = trust.admitFirst(refusedAt: now)
        case .firstThoughKnown: trust.distrust()
        }
        guard reason != .tokensDoubted else {
            guard isProbing(by: shard) else { return ticket }
            sample.refused += 1
            renewLease(now: now)
            if sample.fails(limits.probeSample, share: share) {
                failed(.tokensDoubted, now: now, random: random)
            } else if sample.passes(limits.probeSample, share: share) {
                recover()
            }
            return ticket
        }
        latest.refused += 1
        latest.forget(beyond: limits.refusedSample)
        if isProbing(by: shard) { recover() }
        judge(now: now, random: random)
        return ticket
    }

    // MARK: Topics of requests over HTTP/2

    /// The suffixes of topics that the service refuses, so that the app does not work. Empty: no reason, or another.
    public var refusedSuffixes: [String] { refusals.refusedSuffixes }

    /// Notifications were accepted for topics with these suffixes.
    public mutating func topicsAccepted(_ suffixes: some Sequence<String>) {
        for suffix in suffixes { refusals.accepted(suffix) }
    }

    /// A notification was refused because of its topic. The caller acts on it; with `doesNotWork` it reports
    /// ``failed(_:now:random:)``.
    ///
    /// - Parameters:
    ///   - suffix: the text behind the bundle ID in the topic.
    ///   - checksum: CRC-32 of the token.
    ///   - judges: the suffixes of the topics whose acceptances decide; nil: all.
    public mutating func topicRefused(
        _ suffix: String,
        _ reference: NotificationReference,
        checksum: UInt32,
        judges: [String]?
    ) -> TopicRefusals.Judgement {
        refusals.refused(suffix, reference, checksum: checksum, judges: judges)
    }

    /// The app has another credential: a stop that the former is to blame for may be probed at once.
    public mutating func credentialChanged(now: MonotonicTime) {
        refusals.changeCredential()
        if case .stopped(let reason, _) = state, reason.concernsCredential { state = .stopped(reason, until: now) }
    }

    // MARK: Probes

    /// Asks for the lease.
    ///
    /// - Parameter random: 64 random bits, asked for if a lease has run out.
    /// - Returns: true: granted. The topic was stopped, and the wait is over.
    public mutating func beginProbe(shard: Int, now: MonotonicTime, random: @autoclosure () -> UInt64) -> Bool {
        expireLease(now: now, random: random())
        guard case .stopped(let reason, let until) = state, until <= now else { return false }
        state = .probing(reason, shard: shard, until: now + limits.probeTimeout)
        sample = AnswerCounts()
        return true
    }

    /// Gives the lease back because there is nothing to send: another shard may probe at once.
    ///
    /// A sample that has begun is judged as it is. A lease that has run out is a failed probe here, too.
    ///
    /// - Parameter random: 64 random bits, asked for if the probe has failed.
    public mutating func endProbe(shard: Int, now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard isProbing(by: shard) else { return }
        expireLease(now: now, random: random())
        guard case .probing(let reason, _, _) = state else { return }
        if reason != .tokensDoubted || sample.judged == 0 {
            state = .stopped(reason, until: now)
        } else if sample.exceeds(share) {
            failed(reason, now: now, random: random())
        } else {
            recover()
        }
    }

    /// Gives the lease back without a finding: an operator holds the topic back. A sample that has begun is forgotten.
    ///
    /// - Parameter random: 64 random bits, asked for if the lease has run out.
    public mutating func leaveProbe(shard: Int, now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard isProbing(by: shard) else { return }
        expireLease(now: now, random: random())
        guard case .probing(let reason, _, _) = state else { return }
        state = .stopped(reason, until: now)
    }

    /// The prober waits for its turn in the connection budget, which says nothing about the gateway: the lease begins
    /// anew.
    public mutating func probeWaitsForBudget(shard: Int, now: MonotonicTime) {
        guard isProbing(by: shard) else { return }
        renewLease(now: now)
    }

    /// Lets time pass: an expired lease is a failed probe, the latest answers are judged, and refusals that waited too
    /// long are no longer believed.
    ///
    /// - Parameter random: 64 random bits, used if this stops the topic.
    public mutating func tick(now: MonotonicTime, random: @autoclosure () -> UInt64) {
        trust.expire(now: now)
        expireLease(now: now, random: random())
        judge(now: now, random: random())
    }

    // MARK: Helpers

    private mutating func judge(now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard works, latest.judged >= limits.refusedSample, latest.exceeds(share) else { return }
        failed(.tokensDoubted, now: now, random: random())
    }

    private mutating func expireLease(now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard case .probing(let reason, _, let until) = state, until <= now else { return }
        failed(reason, now: now, random: random())
    }

    private mutating func renewLease(now: MonotonicTime) {
        guard case .probing(let reason, let shard, let until) = state else { return }
        state = .probing(reason, shard: shard, until: max(until, now + limits.probeTimeout))
    }

    /// Ends a stop. A doubt outlives stops for other reasons: its counts are forgotten only when a sample has passed.
    private mutating func recover() {
        if reason == .tokensDoubted { latest = AnswerCounts() }
        state = .works
        failures = 0
    }
}
