/// One topic's progress through one assignment of one partition.
///
///     cursor ── taken in, not done ──▶ next ── passed over ──▶ last ── (live) ──▶
///
/// The live reader of a partition feeds every topic that has credit. A topic without credit, or one that does not work,
/// is *behind*: the live reader passes its records over, and it is fed again from `next` until `last` was met; then it
/// is live again. Its records are taken in once each, in the order of their offsets. Pure.
public struct AppLedger: Sendable {
    /// The stretch of the log with records of the topic that were passed over.
    public struct Gap: Equatable, Sendable {
        /// The next offset to feed.
        public internal(set) var next: Int64
        /// The last offset that was passed over.
        public internal(set) var last: Int64

        public func contains(_ offset: Int64) -> Bool { next <= offset && offset <= last }
    }

    /// The records taken in and not behind the cursor.
    public private(set) var frontier = CommitFrontier()
    /// Nil: live.
    public private(set) var gap: Gap?
    /// Everything of the topic below this offset is done.
    public let doneBelow: Int64
    /// Done ranges beyond the cursor, from the commit that the assignment began with.
    public let alreadyDone: DoneRanges

    /// - Parameters:
    ///   - doneBelow: records below are done.
    ///   - alreadyDone: of the topic's own records.
    ///   - gap: nil: fed by the live reader.
    public init(doneBelow: Int64, alreadyDone: DoneRanges, gap: Range<Int64>? = nil) {
        self.doneBelow = doneBelow
        self.alreadyDone = alreadyDone
        if let gap, !gap.isEmpty { self.gap = Gap(next: gap.lowerBound, last: gap.upperBound - 1) }
    }

    public var isLive: Bool { gap == nil }

    /// The lowest offset that is not done; nil: nothing is taken in, and nothing was passed over.
    public var cursor: Int64? {
        frontier.recordCount > 0 ? frontier.frontierOffset : gap?.next
    }

    /// The cursor that a commit has to name; nil: everything of the topic before the offset to commit is done.
    ///
    /// A live reader that began at a near cursor rereads the records before the committed offset. Until then a topic
    /// without records taken in is not done there: its name carries the reader's position.
    ///
    /// - Parameters:
    ///   - liveNext: the next offset of the live reader.
    ///   - committed: the offset that the assignment began with; the offset to commit is the higher of the two at most.
    public func cursor(liveNext: Int64, committed: Int64) -> Int64? {
        let place = cursor ?? max(liveNext, doneBelow)
        return place < max(liveNext, committed) ? place : nil
    }

    /// Nothing of the topic is left to do, as far as the live reader has come.
    public var isIdle: Bool { frontier.recordCount == 0 && gap == nil }

    /// The done ranges beyond the cursor.
    ///
    /// - Parameter limit: stop after this many runs.
    public func doneRanges(limit: Int = .max) -> DoneRanges {
        let ranges = frontier.nextOffset == nil ? alreadyDone : frontier.doneRanges(limit: limit)
        return cursor.map { ranges.dropping(before: $0) } ?? ranges
    }

    // MARK: Feeding

    /// Takes a record in; see ``CommitFrontier/append(offset:tokens:bytes:alreadyDone:isWhole:)``.
    public mutating func addRecord(offset: Int64, tokens: Int, bytes: Int, isWhole: Bool = false) -> UInt32 {
        if gap != nil { gap?.next = offset + 1 }
        return frontier.append(
            offset: offset,
            tokens: tokens,
            bytes: bytes,
            alreadyDone: alreadyDone,
            isWhole: isWhole
        )
    }

    /// Tokens of a record to be taken in that are not done by the commit that the assignment began with.
    public func openTokens(at offset: Int64, of tokens: Int) -> Int {
        guard let last = alreadyDone.runs.last, DoneRanges.Position(offset: offset, token: 0) < last.upperBound else {
            return tokens
        }
        return (0..<UInt32(tokens)).count { !alreadyDone.contains(.init(offset: offset, token: $0)) }
    }

    /// The live reader passes a record over.
    public mutating func passOver(_ offset: Int64) {
        if let last = gap?.last { gap?.last = max(last, offset) } else { gap = Gap(next: offset, last: offset) }
    }

    /// A reader that began at or before `next` has reached an offset. Everything of the topic before it was taken in.
    ///
    /// - Returns: whether the topic is live from here on.
    @discardableResult
    public mutating func fed(upTo offset: Int64) -> Bool {
        guard let next = gap?.next, let last = gap?.last else { return true }
        gap?.next = max(next, offset)
        if offset > last { gap = nil }
        return gap == nil
    }

    /// The log begins at a higher offset now: the records before are gone.
    ///
    /// - Returns: the number of skipped offsets; 0: none.
    public mutating func skip(to low: Int64) -> Int64 {
        guard let next = gap?.next, next < low else { return 0 }
        let before = next
        fed(upTo: low)
        return low - before
    }

    // MARK: Marks

    @discardableResult
    public mutating func markDone(_ record: UInt32, token: UInt32) -> Bool { frontier.markDone(record, token: token) }

    /// See ``CommitFrontier/markDone(_:of:assignment:)``.
    public mutating func markDone(
        _ entries: Range<UInt64>,
        of log: borrowing FrameLog,
        assignment: UInt32
    ) -> (marked: Int, end: UInt64) {
        frontier.markDone(entries, of: log, assignment: assignment)
    }

    public func isDone(_ record: UInt32, token: UInt32) -> Bool { frontier.isDone(record, token: token) }
    public mutating func hold(_ record: UInt32) { frontier.hold(record) }
    public mutating func release(_ record: UInt32) { frontier.release(record) }
    public mutating func advance() { frontier.advance() }

    /// The ledger for feeding the topic anew from its cursor, with the done ranges beyond it.
    ///
    /// - Parameter liveNext: the next offset of the live reader.
    public func rewound(liveNext: Int64) -> AppLedger {
        guard let cursor else { return AppLedger(doneBelow: doneBelow, alreadyDone: doneRanges()) }
        let end = max(liveNext, (gap?.last ?? cursor) + 1)
        return AppLedger(doneBelow: doneBelow, alreadyDone: doneRanges(), gap: cursor..<max(end, cursor))
    }
}
