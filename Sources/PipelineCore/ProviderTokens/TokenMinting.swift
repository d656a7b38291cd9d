import APNsProtocol

/// Decides when the provider token of one key is minted; all connections of a process share the token.
///
///     none ── token: mint ──▶ good ── 50 minutes: mint ──▶ good
///                             │  ▲
///                     refused │  │ accepted over a newer connection
///                             ▼  │
///                          on trial ── refused over a newer connection ──▶ the team does not work; on trial
///
/// Provider tokens are valid for 60 minutes, and the service refuses those that change more often than every 20
/// minutes [later]. Ages count by whichever of the two clocks ran further: the monotonic one does not see a suspended
/// machine, and the wall clock may be set. Such a disagreement allows one token more per interval, because the last one
/// was minted by a wrong clock.
///
/// Pure: both clocks are arguments. Signing is the caller's.
public struct TokenMinting: Equatable, Sendable {
    /// An answer to the question for a token.
    public enum Action: Equatable, Sendable {
        /// The token of this number is good for use.
        case use(serial: UInt64)
        /// A token is to be signed now, and used from now on under this number. `issuedAt`: UNIX seconds.
        case mint(serial: UInt64, issuedAt: Int64)
        /// There is no usable token, and none may be minted before this time.
        case wait(until: MonotonicTime)
    }

    /// A refusal of the token by the service.
    public enum Refusal: Equatable, Sendable {
        /// `ExpiredProviderToken`.
        case expired
        /// `UnrelatedKeyIdInToken`.
        case unrelatedKey
    }

    /// The consequence of a refusal.
    public enum Verdict: Equatable, Sendable {
        /// The refused goes again, over a new connection with the token of the time.
        case retry
        /// Nothing of the team goes out, but for probes.
        case teamDoesNotWork
    }

    /// The age at which a token is replaced.
    public static let renewal = Duration.seconds(50 * 60)
    /// The age beyond which the service refuses a token [later].
    public static let life = Duration.seconds(60 * 60)
    /// The least time between two tokens [later].
    public static let interval = Duration.seconds(20 * 60)
    /// The longest time between two tokens after the service complained: below ``life``, so that none runs out [ours].
    public static let longestInterval = Duration.seconds(55 * 60)
    /// Tokens are dated back, so that a clock that is ahead does not date them in the future [ours].
    public static let backdatingSeconds: Int64 = 60
    /// A wall clock that went back further since the minting was set [ours].
    static let toleranceSeconds: Int64 = 60

    /// The times of a minting by both clocks.
    private struct Minting: Equatable, Sendable {
        let at: MonotonicTime
        let unixSeconds: Int64

        func age(now: MonotonicTime, unixSeconds: Int64) -> Duration {
            max(at.elapsed(until: now), wallAge(unixSeconds))
        }

        func wallAge(_ now: Int64) -> Duration {
            .seconds(now.subtractingReportingOverflow(unixSeconds).overflow ? 0 : now - unixSeconds)
        }
    }

    public private(set) var key: ProviderKeyID
    /// Number of the latest token; 0: none yet. It goes on with another key.
    public private(set) var serial: UInt64 = 0
    /// The minting of the latest token; nil: there is no token of this key.
    private var latest: Minting?
    /// A new token is minted as soon as one may be: the latest one was called expired.
    private var isVoid = false
    /// The time of the first refusal that no acceptance has followed.
    private var onTrialSince: MonotonicTime?
    private var leastInterval = TokenMinting.interval
    /// The latest token for which the service complained of too many.
    private var complainedSerial: UInt64 = 0
    /// The latest minting that only a disagreement of the clocks allowed.
    private var exemptedAt: MonotonicTime?

    public init(key: ProviderKeyID) {
        self.key = key
    }

    // MARK: Tokens

    /// Asks for the token: before each new connection, and on each of them from time to time.
    ///
    /// - Parameter unixSeconds: the wall clock.
    public mutating func token(now: MonotonicTime, unixSeconds: Int64) -> Action {
        guard let latest else { return mint(now: now, unixSeconds: unixSeconds) }
        let age = latest.age(now: now, unixSeconds: unixSeconds)
        let isFuture = latest.wallAge(unixSeconds) < .seconds(-Self.toleranceSeconds)
        guard isVoid || isFuture || age >= Self.renewal else { return .use(serial: serial) }
        if latest.at.elapsed(until: now) >= leastInterval {
            return mint(now: now, unixSeconds: unixSeconds)
        }
        if isFuture || age >= leastInterval, isExemptionFree(now: now) {
            exemptedAt = now
            return mint(now: now, unixSeconds: unixSeconds)
        }
        return age >= Self.life ? .wait(until: latest.at + leastInterval) : .use(serial: serial)
    }

    /// The token of the latest ``Action/mint(serial:issuedAt:)`` could not be signed: the next question mints again.
    ///
    /// The team does not work meanwhile, and its probes keep their pace.
    public mutating func mintingFailed() {
        latest = nil
    }

    /// Another key takes the place of this one, or another file that of this key's: its first token is minted at once.
    ///
    /// Connections with tokens of the former key are to be replaced; their refusals do not count here.
    public mutating func exchangeKey(_ key: ProviderKeyID) {
        let serial = self.serial
        self = TokenMinting(key: key)
        self.serial = serial
    }

    // MARK: Answers

    /// The service refused a token.
    ///
    /// - Parameters:
    ///   - serial: of the refused token.
    ///   - connectionOpenedAt: a connection stays of no use after the first refusal [field], so that only one opened
    ///     after it tells anything new.
    public mutating func refused(
        _ refusal: Refusal,
        serial: UInt64,
        connectionOpenedAt: MonotonicTime,
        now: MonotonicTime
    ) -> Verdict {
        guard isInUse(serial) else { return .retry }
        guard let onTrialSince else {
            self.onTrialSince = now
            if refusal == .expired { isVoid = true }
            return .retry
        }
        guard connectionOpenedAt >= onTrialSince else { return .retry }
        if refusal == .expired { isVoid = true }
        return .teamDoesNotWork
    }

    /// The service accepted a notification with a token.
    public mutating func accepted(serial: UInt64, connectionOpenedAt: MonotonicTime) {
        guard isInUse(serial) else { return }
        if serial > complainedSerial { leastInterval = Self.interval }
        guard let onTrialSince, connectionOpenedAt >= onTrialSince else { return }
        self.onTrialSince = nil
        isVoid = false
    }

    /// The service complained of too many tokens (`TooManyProviderTokenUpdates`): this one stays, and the time to the
    /// next one doubles; once for each token, however many answers say so.
    public mutating func complainedOfUpdates(serial: UInt64) {
        guard isInUse(serial), serial > complainedSerial else { return }
        complainedSerial = serial
        leastInterval = min(leastInterval * 2, Self.longestInterval)
    }

    // MARK: Helpers

    /// News of any other token is old.
    private func isInUse(_ serial: UInt64) -> Bool {
        latest != nil && serial == self.serial
    }

    private mutating func mint(now: MonotonicTime, unixSeconds: Int64) -> Action {
        latest = Minting(at: now, unixSeconds: unixSeconds)
        serial += 1
        isVoid = false
        return .mint(serial: serial, issuedAt: unixSeconds - Self.backdatingSeconds)
    }

    private func isExemptionFree(now: MonotonicTime) -> Bool {
        exemptedAt.map { $0.elapsed(until: now) >= Self.interval } ?? true
    }
}
