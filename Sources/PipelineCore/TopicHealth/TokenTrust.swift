/// Refusals of tokens in a row, each waiting until acceptances over a newer connection pay for it.
///
/// Invariant 10: a tombstone is written only for a topic whose notifications the same gateway accepts. A connection
/// that is older than a refusal proves nothing for it: its acceptances may be from before the gateway went wrong. And a
/// connection that begins with a refusal shows a gateway that may be wrong now: what waits is not believed any more, or a
/// gateway that is repaired would pay for what it refused while it was wrong. On probation, where tokens that nothing is
/// known of follow each other, a first refusal is common and waits like others; but a row of them, in which the topic gets
/// no acceptance at all, shows the same.
struct TokenTrust: Equatable, Sendable {
    /// The latest ticket that was paid for.
    private(set) var trustedThrough: UInt64 = 0

    /// The latest ticket that will not be paid for, nor those before it that were not.
    private(set) var distrustedThrough: UInt64 = 0
    /// The latest ticket that waits no more.
    private var settledThrough: UInt64 = 0

    /// Credit of one acceptance, in millionths.
    private let income: Int
    /// Price of one refusal, in millionths; 0: one acceptance pays for all.
    private let price: Int
    private let limit: Int

    /// First refusals on probation in a row that are not believed any more.
    static let longestRow = 16
    /// First refusals on probation since the last acceptance.
    private var row = 0

    private var lastTicket: UInt64 = 0
    /// When the refusals that wait were made, the oldest at `head`: a ring that grows up to the limit.
    private var ring: [MonotonicTime] = []
    private var head = 0
    /// Part of the price that was paid for the oldest refusal.
    private var credit = 0

    /// - Parameters:
    ///   - share: of refused tokens that is believed, in millionths; 0: none, ever.
    ///   - limit: refusals that may wait.
    init(share: Int, limit: Int) {
        income = share
        price = AnswerCounts.whole - share
        self.limit = limit
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
    mutating func admitFirst(isOnProbation: Bool, refusedAt: MonotonicTime) -> UInt64 {
        row += 1
        guard isOnProbation, row < Self.longestRow else {
            distrust()
            return 0
        }
        return admit(refusedAt: refusedAt)
    }

    /// Acceptances pay for the oldest refusals, up to the first that is newer than their connection.
    mutating func pay(_ count: Int, connectionOpenedAt: MonotonicTime) {
        row = 0
        guard waiting > 0, ring[head] <= connectionOpenedAt else { return }
        // More than the price of all that wait is of no use; the bound keeps the product small.
        let useful = min(count, (waiting * price) / income + 1)
        credit += useful * income
        while waiting > 0, ring[head] <= connectionOpenedAt {
            guard credit >= price else { return }
            credit -= price
            settledThrough += 1
            trustedThrough = settledThrough
            head = (head + 1) % ring.count
        }
        // What is left was not earned over a connection that is newer than the next refusal.
        credit = 0
    }

    /// What waits is not believed any more.
    mutating func distrust() {
        guard waiting > 0 else { return }
        settledThrough = lastTicket
        distrustedThrough = lastTicket
        head = 0
        credit = 0
    }

    private mutating func grow() {
        let ordered = Array(ring[head...] + ring[..<head])
        let size = min(limit, max(16, 2 * ring.count))
        ring = ordered + Array(repeating: MonotonicTime(nanoseconds: 0), count: size - ordered.count)
        head = 0
    }
}
