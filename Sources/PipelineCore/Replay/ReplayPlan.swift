/// Decides whether, and from which offset, records are applied again. That is needed when the servers may have lost
/// changes that they acknowledged.
///
/// A Redis server's replication ID names the history of its data. It changes when a replica is promoted and when a
/// server starts again; in both cases the last acknowledged writes may be missing. So whenever a master has a new
/// replication ID, the records applied within the window are applied again, in every partition. Changes are idempotent,
/// so a needless repetition costs time only.
///
/// Source: Redis documentation, "Replication", "Replication ID explained".
public struct ReplayPlan: Sendable {
    public let window: Duration

    /// Replication IDs under which all applied changes count as applied; nil: not known yet.
    private var settled: Set<String>?
    /// Replication IDs of the last look, if some are new.
    private var changed: Set<String>?
    private var isBlind = false
    /// Until the servers are known: those that some look has met, and since when there are any.
    private var firstLook: (servers: Set<String>, since: MonotonicTime)?
    private var partitions: [Int32: ReplayWindow] = [:]

    /// The longest wait for the other masters after the first one's answer: one that hangs holds up its own records
    /// only, not the group.
    public static let firstLookPatience = Duration.seconds(30)

    public init(window: Duration) {
        self.window = window
    }

    // MARK: Servers

    /// Partitions may begin: the servers are known, or cannot be.
    public var isReady: Bool { settled != nil || isBlind }

    /// The servers do not report their replication IDs: nothing is ever applied again.
    public mutating func cannotTell() {
        isBlind = true
    }

    /// The masters have these replication IDs.
    ///
    /// - Parameter isComplete: all masters answered.
    /// - Returns: whether some are new since the last look.
    public mutating func observed(
        _ identifiers: some Sequence<String>,
        isComplete: Bool,
        now: MonotonicTime
    ) -> Bool {
        let seen = Set(identifiers.map { String($0.prefix(ReplayMark.digits)) })
        guard let settled else {
            lookFirst(seen, isComplete: isComplete, now: now)
            return false
        }
        let before = changed ?? settled
        if seen.isSubset(of: before) {
            // IDs of servers that are gone are dropped, so that the mark does not grow for ever.
            if isComplete, changed == nil { self.settled = seen }
            return false
        }
        changed = isComplete ? seen : before.union(seen)
        return true
    }

    /// A first look that misses a server counts once the patience is over. The server is new when it is met later, and
    /// applies everything again; a commit until then does not name it, so that the next owner does the same.
    private mutating func lookFirst(_ seen: Set<String>, isComplete: Bool, now: MonotonicTime) {
        if isComplete {
            settled = seen
        } else if let known = firstLook {
            let servers = known.servers.union(seen)
            firstLook?.servers = servers
            if now >= known.since + Self.firstLookPatience { settled = servers }
        } else if !seen.isEmpty {
            firstLook = (seen, now)
        }
        if settled != nil { firstLook = nil }
    }

    // MARK: Partitions

    /// A partition was assigned.
    ///
    /// - Parameters:
    ///   - committed: the next record according to the group.
    ///   - metadata: the metadata of the committed offset.
    public mutating func begin(_ partition: Int32, committed: Int64, metadata: String, now: MonotonicTime) -> Int64 {
        var partitionWindow = ReplayWindow(length: window)
        let mark = ReplayMark(metadata)
        // The previous owner may have applied these just now.
        let start = min(mark?.start ?? committed, committed)
        partitionWindow.applying(from: start, now: now)
        partitions[partition] = partitionWindow
        guard let mark, let settled, !settled.isSubset(of: mark.servers) else { return committed }
        return start
    }

    /// Records of a partition, from `offset` on, are being applied.
    public mutating func applying(_ partition: Int32, from offset: Int64, now: MonotonicTime) {
        partitions[partition]?.applying(from: offset, now: now)
    }

    /// The metadata to commit with `offset`.
    public func metadata(_ partition: Int32, offset: Int64) -> String {
        guard let settled, !settled.isEmpty else { return "" }
        return ReplayMark(servers: settled, start: partitions[partition]?.start ?? offset).metadata
    }

    /// The partition was given back.
    public mutating func end(_ partition: Int32) {
        partitions[partition] = nil
    }

    // MARK: Again

    /// Records have to be applied again.
    public var isDue: Bool { changed != nil }

    /// The offset to begin again at, by partition.
    public var starts: [Int32: Int64] { partitions.compactMapValues(\.start) }

    /// Consuming continues at ``starts``: offsets committed from now on were applied to the new servers.
    public mutating func beganAgain() {
        if let changed { settled = changed }
        changed = nil
    }
}
