/// Refusals of tokens in a row, each waiting until acceptances over a newer connection pay for it.
///
/// Invariant 10: a tombstone is written only for a topic whose notifications the same gateway accepts. So a refusal is
/// believed only when a connection newer than the refusal accepts something: an older one may be from before the
/// gateway went wrong. A repaired gateway must not make refusals believed that it made while it was wrong, so waiting
/// refusals are no longer believed when the gateway seems to be wrong. That is so when it has never accepted anything,
/// when a connection begins with the refusal of a token that was accepted before, or when a row of connections begins
/// with a refusal and nothing is accepted. For the same reason no refusal waits longer than ``patience``.
struct TokenTrust: Equatable, Sendable {
    /// The longest wait of a refusal. A handshake and a confirmation window take a part of it. [ours]
    static let patience = Duration.seconds(30)
    /// First refusals of connections in a row that may be believed: a list of tokens may begin with dead ones. [ours]
    static let mostFirst = 4
    /// This many first refusals in a row show a wrong gateway, if acceptances meanwhile would be known by then; or the
    /// larger number in any case. [ours]
    static let row = 16
    static let rowTime = Duration.seconds(5)
    static let longestRow = 64

    /// The latest ticket that was paid for.
    private(set) var trustedThrough: UInt64 = 0

    /// The latest ticket that will not be paid for, like all unpaid ones before it.
    private(set) var distrustedThrough: UInt64 = 0
    /// The latest ticket that no longer waits.
    private var settledThrough: UInt64 = 0

    /// Credit of one acceptance, in millionths.
    private var income: Int
    /// Price of one refusal, in millionths; 0: one acceptance pays for all.
    private var price: Int
    private let limit: Int

    private var hasAccepted = false
    /// Connections that began with a refusal and ended no row, and the time of the first one.
    private var firsts = 0
    private var firstsSince = MonotonicTime(nanoseconds: 0)

    private var lastTicket: UInt64 = 0
    /// The times of the waiting refusals, the oldest at `head`: a ring that grows up to the limit.
    private var ring: [MonotonicTime] = []
    private var head = 0
    /// The part of the price already paid for the oldest refusal.
    private var credit = 0

    /// - Parameters:
    ///   - share: believed share of refused tokens, in millionths; 0: none, ever.
    ///   - limit: refusals that may wait.
    init(share: Int, limit: Int) {
        income = share
        price = AnswerCounts.whole - share
        self.limit = limit
    }

    /// Believes another share of refusals from now on. The part of a price that is paid already is forgotten: that
    /// never believes more than either share does.
    mutating func use(share: Int) {
        income = share
        price = AnswerCounts.whole - share
        credit = 0
        if income == 0 { distrust() }
    }

    private var waiting: Int { Int(lastTicket - settledThrough) }

    /// A refusal begins to wait.
    ///
    /// - Returns: its ticket; 0 if it is not admitted.
    mutating func admit(refusedAt: MonotonicTime) -> UInt64 {
        guard income > 0, waiting < limit else { return 0 }
        if waiting == ring.count { grow() }
        ring[(head + waiting) % ring.count] = refusedAt
        lastTicket += 1
        return lastTicket
    }

    /// A connection began with a refusal.
    ///
    /// - Returns: its ticket; 0 if it is not admitted.
    mutating func admitFirst(refusedAt: MonotonicTime) -> UInt64 {
        if firsts == 0 { firstsSince = refusedAt }
        firsts += 1
        let isShort = firsts < Self.row || firsts < Self.longestRow && refusedAt < firstsSince + Self.rowTime
        guard hasAccepted, isShort else {
            distrust()
            return 0
        }
        return firsts <= Self.mostFirst ? admit(refusedAt: refusedAt) : 0
    }

    /// Acceptances pay for the oldest refusals, up to the first that is newer than their connection.
    ///
    /// They end the row if their connection is newer than its beginning. Over an older one they may be from before the
    /// gateway went wrong, unless so much time has passed that those are known.
    mutating func pay(_ count: Int, connectionOpenedAt: MonotonicTime, now: MonotonicTime) {
        hasAccepted = true
        if firstsSince <= connectionOpenedAt || firstsSince + Self.rowTime <= now { firsts = 0 }
        guard waiting > 0, ring[head] <= connectionOpenedAt else { return }
        // Credit beyond the price of all waiting refusals is useless; the bound keeps the product small.
        let useful = min(count, (waiting * price) / income + 1)
        credit += useful * income
        while waiting > 0, ring[head] <= connectionOpenedAt {
            guard credit >= price else { return }
            credit -= price
            trustedThrough = settleOldest()
        }
        // The remaining credit was not earned over a connection newer than the next refusal.
        credit = 0
    }

    /// Stops believing all waiting refusals.
    mutating func distrust() {
        guard waiting > 0 else { return }
        settledThrough = lastTicket
        distrustedThrough = lastTicket
        head = 0
        credit = 0
    }

    /// Stops believing refusals that have waited for too long.
    mutating func expire(now: MonotonicTime) {
        while waiting > 0, ring[head] + Self.patience <= now {
            distrustedThrough = settleOldest()
            credit = 0
        }
    }

    /// - Returns: the ticket that no longer waits.
    private mutating func settleOldest() -> UInt64 {
        settledThrough += 1
        head = (head + 1) % ring.count
        return settledThrough
    }

    private mutating func grow() {
        let ordered = Array(ring[head...] + ring[..<head])
        let size = min(limit, max(16, 2 * ring.count))
        ring = ordered + Array(repeating: MonotonicTime(nanoseconds: 0), count: size - ordered.count)
        head = 0
    }
}
