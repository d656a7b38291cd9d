/// Decides when records are applied again because the servers may have lost what they acknowledged, and from where on.
///
/// A Redis server's replication ID names the history of its data. It changes when a replica is promoted and when a server
/// starts again; in both cases the last acknowledged writes may be missing. So: whenever a master has a replication ID under
/// which nothing was applied yet, what was applied in the last while is applied again, in every partition. Changes are
/// idempotent, hence a needless repetition costs time only.
///
/// Source: Redis documentation, "Replication", "Replication ID explained".
public struct ReplayPlan: Sendable {
    public let window: Duration

    /// Replication IDs under which all that was applied counts as applied; nil: not known yet.
    private var settled: Set<String>?
    /// Those of the last look, if some are new.
    private var changed: Set<String>?
    private var isBlind = false
    private var partitions: [Int32: ReplayWindow] = [:]

    public init(window: Duration) {
        self.window = window
    }

    // MARK: Servers

    /// Whether partitions may begin: the servers are known, or cannot be.
    public var isReady: Bool { settled != nil || isBlind }

    /// The servers do not tell their replication IDs: nothing is ever applied again.
    public mutating func cannotTell() {
        isBlind = true
    }

    /// The masters have these replication IDs.
    ///
    /// - Parameter isComplete: all masters were heard.
    /// - Returns: whether some are new since the last look.
    public mutating func observed(_ identifiers: some Sequence<String>, isComplete: Bool) -> Bool {
        let seen = Set(identifiers.map { String($0.prefix(ReplayMark.digits)) })
        guard let settled else {
            // The first look counts when it is whole: what it missed would be taken for new later.
            if isComplete { self.settled = seen }
            return false
        }
        let before = changed ?? settled
        if seen.isSubset(of: before) {
            // Those of servers that are gone are dropped, so that the mark does not grow for ever.
            if isComplete, changed == nil { self.settled = seen }
            return false
        }
        changed = isComplete ? seen : before.union(seen)
        return true
    }

    // MARK: Partitions

    /// A partition was assigned.
    ///
    /// - Parameters:
    ///   - committed: the next record by the group's word.
    ///   - metadata: what stands beside it.
    /// - Returns: where to begin; lower than `committed` if the servers are not those that the mark names.
    public mutating func begin(_ partition: Int32, committed: Int64, metadata: String, now: MonotonicTime) -> Int64 {
        var partitionWindow = ReplayWindow(length: window)
        let mark = ReplayMark(metadata)
        // Whoever had it before may have applied these just now.
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

    /// What to commit beside `offset`.
    public func metadata(_ partition: Int32, offset: Int64) -> String {
        guard let settled, !settled.isEmpty else { return "" }
        return ReplayMark(servers: settled, start: partitions[partition]?.start ?? offset).metadata
    }

    /// The partition was given back.
    public mutating func end(_ partition: Int32) {
        partitions[partition] = nil
    }

    // MARK: Again

    /// Whether records are to be applied again.
    public var isDue: Bool { changed != nil }

    /// Where to begin again, by partition.
    public var starts: [Int32: Int64] { partitions.compactMapValues(\.start) }

    /// Consuming goes on from where ``starts`` said: what is committed from now on was applied to the new servers.
    public mutating func beganAgain() {
        if let changed { settled = changed }
        changed = nil
    }
}
