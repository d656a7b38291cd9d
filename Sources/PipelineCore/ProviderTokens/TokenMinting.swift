import APNsProtocol

/// Decides which provider token of one key is in use: the same in all processes and on all hosts that have the key.
///
/// The service refuses tokens that change more often than every 20 minutes [later], and counts them by key and address,
/// as it seems, not by connection [field]: a process that mints at each start would spend them for its neighbours and
/// its successors. So a token is not dated with the time of its minting but with the start of a slot, and the same date
/// is the same token, to the byte (RFC 6979). The slots of each key begin at a time of their own, so that not all keys
/// change at once.
///
///     slots    |────────── 30 min ──────────|────────────────────────────|
///     date     d                            d + 30 min
///     in use   ·····|◀── d + 5 to d + 35 ──▶|·····|◀─ d + 35 to d + 65 ─▶|
///
/// The service takes tokens for 60 minutes, and none from the future. That leaves room for hosts whose clocks are up to
/// 5 minutes ahead, or 25 behind. Where clocks differ, the token of a slot and that of the next are in use for a while;
/// a third comes within 20 minutes only if they differ by more than 10.
///
///     good ── refused ──▶ on trial ── refused over a newer connection ──▶ the team does not work; on trial
///      ▲                    │
///      └── accepted over a newer connection
///
/// A token that is called expired early is not replaced before its slot ends: no other one can be made that all
/// processes would share, and a wrong clock, of this host or of the service, is the likelier cause.
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

    /// The consequence of a refusal.
    public enum Verdict: Equatable, Sendable {
        /// The refused goes again, over a new connection with the token of the time.
        case retry
        /// Nothing of the team goes out, but for probes.
        case teamDoesNotWork
    }

    /// The time for which a token is in use [ours].
    public static let slotSeconds: Int64 = 30 * 60
    /// The age of a token when its use begins: a clock that is ahead does not date it in the future [ours].
    public static let backdatingSeconds: Int64 = 5 * 60
    /// The time in which a process mints no more than two tokens of a key, however its clock jumps [later].
    public static let interval = Duration.seconds(ProviderTokenAge.updateIntervalSeconds)

    private struct Minting: Equatable, Sendable {
        let at: MonotonicTime
        let issuedAt: Int64
    }

    public private(set) var key: ProviderKeyID
    /// Number of the latest token; 0: none yet. It goes on with another key.
    public private(set) var serial: UInt64 = 0
    /// The minting of the latest token; nil: there is no token of this key.
    private var latest: Minting?
    /// The time of the minting before.
    private var formerAt: MonotonicTime?
    /// The time of the first refusal that no acceptance has followed.
    private var onTrialSince: MonotonicTime?

    public init(key: ProviderKeyID) {
        self.key = key
    }

    // MARK: Tokens

    /// The date of the token that is in use at a time, UNIX seconds: the same for each who asks.
    public static func issuedAt(_ key: ProviderKeyID, unixSeconds: Int64) -> Int64 {
        let name = Array("\(key.team)/\(key.key)".utf8)
        let hash = name.withUnsafeBytes { SipHash.word(of: $0, key: SipHash(low: 0, high: 0)) }
        let offset = Int64(hash % UInt64(slotSeconds))
        let latest = unixSeconds - backdatingSeconds
        let intoSlot = (latest - offset) % slotSeconds
        // The remainder is negative before 1970.
        return latest - (intoSlot < 0 ? intoSlot + slotSeconds : intoSlot)
    }

    /// Asks for the token: before each new connection, and on each of them from time to time.
    ///
    /// - Parameter unixSeconds: the wall clock.
    public mutating func token(now: MonotonicTime, unixSeconds: Int64) -> Action {
        let issuedAt = Self.issuedAt(key, unixSeconds: unixSeconds)
        guard let latest else { return mint(issuedAt, now: now) }
        // A clock that was set back a little, past the start of a slot, does not bring the former token back.
        if (issuedAt...unixSeconds).contains(latest.issuedAt) { return .use(serial: serial) }
        guard let formerAt, formerAt.elapsed(until: now) < Self.interval else { return mint(issuedAt, now: now) }
        let isExpired = ProviderTokenAge.isExpired(issuedAt: latest.issuedAt, now: unixSeconds)
        return isExpired ? .wait(until: formerAt + Self.interval) : .use(serial: serial)
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

    /// The service refused a token: `ExpiredProviderToken` or `UnrelatedKeyIdInToken`.
    ///
    /// - Parameters:
    ///   - serial: of the refused token.
    ///   - connectionOpenedAt: a connection stays of no use after the first refusal [field], so that only one opened
    ///     after it tells anything new.
    public mutating func refused(serial: UInt64, connectionOpenedAt: MonotonicTime, now: MonotonicTime) -> Verdict {
        guard isInUse(serial) else { return .retry }
        guard let onTrialSince else {
            self.onTrialSince = now
            return .retry
        }
        return connectionOpenedAt >= onTrialSince ? .teamDoesNotWork : .retry
    }

    /// The service accepted a notification with a token.
    public mutating func accepted(serial: UInt64, connectionOpenedAt: MonotonicTime) {
        guard isInUse(serial), let onTrialSince, connectionOpenedAt >= onTrialSince else { return }
        self.onTrialSince = nil
    }

    // MARK: Helpers

    /// News of any other token is old.
    private func isInUse(_ serial: UInt64) -> Bool {
        latest != nil && serial == self.serial
    }

    private mutating func mint(_ issuedAt: Int64, now: MonotonicTime) -> Action {
        if let latest { formerAt = latest.at }
        latest = Minting(at: now, issuedAt: issuedAt)
        serial += 1
        return .mint(serial: serial, issuedAt: issuedAt)
    }
}
