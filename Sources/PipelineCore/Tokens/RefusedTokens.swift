/// The tokens that the gateway called invalid lately, until their tombstones take effect.
///
/// Some notifications were looked up between the refusal and the tombstone. Each would cost a connection and everything
/// sent after it; with this memory none is sent. An entry lives until its tombstone is written and every batch of
/// notifications taken in before that has gone through. Later batches are judged by the token store alone, so that a
/// token that registers again is reached as soon as the store says that it lives. A look-up that shows a registration
/// at or after the refusal ends the entry earlier (same second: the token lives), and so does a refusal that is not
/// believed.
///
/// Batches are numbered from 1 in the order in which they are taken in, and go through in that order.
public struct RefusedTokens {
    private struct Entry {
        var token: [UInt8]
        /// UNIX seconds.
        var refusedAt: UInt32
        /// Distinguishes a later entry of the same token from this one.
        var ordinal: UInt64
    }

    private struct Place {
        var checksum: UInt32
        var ordinal: UInt64
    }

    /// Most entries kept; one more replaces the oldest.
    public let limit: Int
    public private(set) var count = 0

    /// Few tokens share a checksum.
    private var entries: [UInt32: [Entry]] = [:]
    /// Oldest first; entries that are gone may still stand here.
    private var order: [Place] = []
    private var orderStart = 0
    /// Tokens whose tombstones are written, with the last batch that may not know of them.
    private var leaving: [(place: Place, batch: UInt64)] = []
    private var nextOrdinal: UInt64 = 0
    private var passedBatch: UInt64 = 0

    /// - Parameter limit: 1 or more.
    public init(limit: Int = 65_536) {
        precondition(limit >= 1)
        self.limit = limit
    }

    public var isEmpty: Bool { count == 0 }

    /// - Parameter checksum: any number that equal tokens share.
    public func contains(_ token: UnsafeRawBufferPointer, checksum: UInt32) -> Bool {
        guard let found = entries[checksum] else { return false }
        return found.contains { $0.token.elementsEqual(token) }
    }

    /// A token was called invalid. The time of a repeated refusal replaces the earlier one.
    ///
    /// - Parameter unixSeconds: the time of the refusal.
    public mutating func insert(_ token: [UInt8], checksum: UInt32, refusedAt unixSeconds: UInt32) {
        remove(token, checksum: checksum)
        if count == limit { removeOldest() }
        entries[checksum, default: []].append(Entry(token: token, refusedAt: unixSeconds, ordinal: nextOrdinal))
        order.append(Place(checksum: checksum, ordinal: nextOrdinal))
        nextOrdinal += 1
        count += 1
        compact()
    }

    /// The refusal is not believed.
    public mutating func remove(_ token: [UInt8], checksum: UInt32) {
        remove(checksum: checksum) { $0.token == token }
    }

    /// The token's tombstone is in the store.
    ///
    /// - Parameter batch: the last one taken in so far, 0 if none.
    public mutating func written(_ token: [UInt8], checksum: UInt32, through batch: UInt64) {
        guard let entry = entries[checksum]?.first(where: { $0.token == token }) else { return }
        leaving.append((Place(checksum: checksum, ordinal: entry.ordinal), batch))
        leave()
    }

    /// Every batch up to this one has gone through.
    public mutating func passed(batch: UInt64) {
        passedBatch = max(passedBatch, batch)
        leave()
    }

    /// A look-up shows a registration of a token.
    ///
    /// - Parameter unixSeconds: the time of the registration.
    public mutating func registered(_ token: UnsafeRawBufferPointer, checksum: UInt32, at unixSeconds: UInt32) {
        remove(checksum: checksum) {
            $0.token.elementsEqual(token) && !TombstoneRule.isDead(registeredAt: unixSeconds, missingAt: $0.refusedAt)
        }
    }

    private mutating func leave() {
        guard !leaving.isEmpty else { return }
        for (place, batch) in leaving where batch <= passedBatch {
            remove(checksum: place.checksum) { $0.ordinal == place.ordinal }
        }
        leaving.removeAll { $0.batch <= passedBatch }
    }

    private mutating func removeOldest() {
        let before = count
        while count == before {
            let oldest = order[orderStart]
            orderStart += 1
            remove(checksum: oldest.checksum) { $0.ordinal == oldest.ordinal }
        }
    }

    private mutating func remove(checksum: UInt32, where isMeant: (Entry) -> Bool) {
        guard let index = entries[checksum]?.firstIndex(where: isMeant) else { return }
        entries[checksum]?.remove(at: index)
        if entries[checksum]?.isEmpty == true { entries[checksum] = nil }
        count -= 1
        if count == 0 {
            order.removeAll(keepingCapacity: true)
            orderStart = 0
            leaving.removeAll(keepingCapacity: true)
        }
    }

    /// Keeps the order's memory in proportion to the number of entries.
    private mutating func compact() {
        guard order.count > 2 * limit + 64 || orderStart > limit else { return }
        order = order[orderStart...].filter { place in
            entries[place.checksum]?.contains { $0.ordinal == place.ordinal } ?? false
        }
        orderStart = 0
        leaving.removeAll { left in
            entries[left.place.checksum]?.contains { $0.ordinal == left.place.ordinal } != true
        }
    }
}
