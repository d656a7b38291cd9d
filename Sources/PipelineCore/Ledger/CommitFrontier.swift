/// The outcomes within one assigned partition, and the resulting offset to commit.
///
/// Follows the *consumed* order: offsets have holes (transactions, compaction), so the next offset is not the last one
/// plus one until it has been consumed. Records are numbered consecutively from 0 (wrapping at 2³²).
public struct CommitFrontier: Sendable {
    struct Record {
        var offset: Int64
        var tokens: UInt32
        /// Memory of the record, bytes.
        var bytes: UInt32
        /// Tokens without an outcome, and other things that the record waits for.
        var remaining: UInt32
        /// Done tokens of a record with at most 64; for larger ones the place of their words, see ``LargeMarks``.
        var done: UInt64
    }

    private(set) var records: [Record] = []
    /// Index in `records` of the first that is not done; those before are spent.
    private var start = 0
    private var firstNumber: UInt32
    /// Done tokens of records with more than 64.
    private var large = LargeMarks()
    /// The offset after the last consumed record; nil before the first.
    private var consumedEnd: Int64?

    /// Notifications of the records that are not behind the frontier: the distance of sending ahead of it.
    public private(set) var uncommitted = 0
    /// Memory of the same records in bytes, as passed to ``append(offset:tokens:bytes:alreadyDone:isWhole:)``.
    public private(set) var bytes = 0
    /// The done ranges that this assignment started from. Runs beyond the records consumed since are part of every
    /// commit: otherwise the next owner would send them once more.
    private var inherited = DoneRanges()

    public init() {
        self.init(firstNumber: 0)
    }

    /// Starts at another record number than 0, so that tests reach their wrap-around.
    init(firstNumber: UInt32) {
        self.firstNumber = firstNumber
    }

    /// Records consumed and not behind the frontier.
    public var recordCount: Int { records.count - start }
    /// Number of the oldest record that is not done.
    public var firstRecord: UInt32 { firstNumber }

    /// The offset after the last record taken in; nil before the first.
    public var nextOffset: Int64? { consumedEnd }

    /// Takes a consumed record in.
    ///
    /// - Parameters:
    ///   - offset: higher than that of the record before.
    ///   - tokens: number of notifications, 0 or more. A record that cannot be decoded counts as one: the metadata can
    ///     only name records that have a token.
    ///   - bytes: memory of the record, by the caller's own measure.
    ///   - alreadyDone: runs from the commit that this assignment started from, the same at every call; their tokens
    ///     count as done.
    ///   - isWhole: the record is done as a whole or not at all; marks of some of its notifications do not count.
    /// - Returns: the record's number. If nothing of the record remains, the next ``advance()`` passes it.
    public mutating func append(
        offset: Int64,
        tokens: Int,
        bytes: Int = 0,
        alreadyDone: DoneRanges,
        isWhole: Bool = false
    ) -> UInt32 {
        precondition(consumedEnd.map { offset >= $0 } ?? true)
        if consumedEnd == nil { inherited = alreadyDone }
        consumedEnd = offset + 1
        let number = firstNumber &+ UInt32(truncatingIfNeeded: recordCount)
        records.append(
            Record(
                offset: offset,
                tokens: UInt32(tokens),
                bytes: UInt32(clamping: bytes),
                remaining: UInt32(tokens),
                done: tokens > 64 ? large.append(tokens: tokens) : 0
            )
        )
        uncommitted += tokens
        self.bytes += Int(UInt32(clamping: bytes))
        if let last = alreadyDone.runs.last, DoneRanges.Position(offset: offset, token: 0) < last.upperBound,
            !isWhole || alreadyDone.containsAll(of: offset)
        {
            for token in 0..<UInt32(tokens) where alreadyDone.contains(.init(offset: offset, token: token)) {
                setDone(number, token: token)
            }
        }
        if let last = inherited.runs.last, last.upperBound <= DoneRanges.Position(offset: offset + 1, token: 0) {
            inherited = DoneRanges()
        }
        return number
    }

    /// Advances the frontier over finished records at its front. Called once the obligations of a newly appended record
    /// are known; ``markDone(_:token:)`` and ``release(_:)`` advance by themselves.
    public mutating func advance() {
        while start < records.count, records[start].remaining == 0 {
            uncommitted -= Int(records[start].tokens)
            bytes -= Int(records[start].bytes)
            if records[start].tokens > 64 { large.removeFirst(tokens: Int(records[start].tokens)) }
            start += 1
            firstNumber &+= 1
        }
        guard start == records.count || start > 1024 && start * 2 > records.count else { return }
        // A shard has thousands of frontiers: what a burst took goes with it.
        let isEmpty = start == records.count
        if isEmpty { records.removeAll(keepingCapacity: start <= 64) } else { records.removeFirst(start) }
        start = 0
    }

    /// Number of a record's notifications; nil for one behind the frontier.
    public func tokens(of number: UInt32) -> Int? {
        index(of: number).map { Int(records[$0].tokens) }
    }

    /// Notifications of a record without an outcome, and other things that it waits for; 0 for a record behind the
    /// frontier.
    public func remaining(of number: UInt32) -> Int {
        index(of: number).map { Int(records[$0].remaining) } ?? 0
    }

    /// The offset of a record; nil for one behind the frontier.
    public func offset(of number: UInt32) -> Int64? {
        index(of: number).map { records[$0].offset }
    }

    /// The notification has its outcome; also true for a record behind the frontier.
    public func isDone(_ number: UInt32, token: UInt32) -> Bool {
        guard let index = index(of: number) else { return true }
        return hasBit(records[index], token: token)
    }

    /// Marks a notification done: it has its outcome, and everything published about it was acknowledged.
    ///
    /// - Returns: true if it was not done before; a notification may be settled twice (a late answer after it was
    ///   presumed).
    @discardableResult
    public mutating func markDone(_ number: UInt32, token: UInt32) -> Bool {
        guard setDone(number, token: token) else { return false }
        if number == firstNumber { advance() }
        return true
    }

    /// Marks notifications of a lane's log done, as ``markDone(_:token:)`` does: those from the first on that follow
    /// each other and are of this assignment. Dropped entries are passed over.
    ///
    /// - Parameters:
    ///   - entries: not empty; the first is of the assignment.
    ///   - assignment: the number by which the log's references name this assignment.
    /// - Returns: how many were not done before, and the first entry that was not looked at.
    public mutating func markDone(
        _ entries: Range<UInt64>,
        of log: borrowing FrameLog,
        assignment: UInt32
    ) -> (marked: Int, end: UInt64) {
        var marked = 0
        var isFirst = false
        var sequence = entries.lowerBound
        while sequence < entries.upperBound {
            let entry = log.entry(at: sequence)
            if !entry.isDropped {
                let reference = entry.reference
                guard reference.assignment == assignment else { break }
                if setDone(reference.record, token: reference.token) {
                    marked += 1
                    isFirst = isFirst || reference.record == firstNumber
                }
            }
            sequence += 1
        }
        if isFirst { advance() }
        return (marked, sequence)
    }

    /// Makes a record wait for one thing more than its tokens (a dead letter to be acknowledged).
    public mutating func hold(_ number: UInt32) {
        guard let index = index(of: number) else { return }
        records[index].remaining += 1
    }

    /// Undoes one ``hold(_:)``.
    public mutating func release(_ number: UInt32) {
        guard let index = index(of: number) else { return }
        precondition(records[index].remaining > 0)
        records[index].remaining -= 1
        if number == firstNumber { advance() }
    }

    /// The first offset that is not done; nil before anything was consumed.
    public var frontierOffset: Int64? {
        guard let consumedEnd else { return nil }
        return start < records.count ? records[start].offset : consumedEnd
    }

    /// The done notifications beyond the frontier, as runs.
    ///
    /// - Parameter limit: stop after this many runs.
    public func doneRanges(limit: Int = .max) -> DoneRanges {
        var ranges = DoneRanges()
        var run: DoneRanges.Position?
        for record in records[start...] {
            if ranges.runs.count >= limit { return ranges }
            if record.tokens == 0, record.remaining > 0, let from = run {
                ranges.append(from..<DoneRanges.Position(offset: record.offset, token: 0))
                run = nil
            }
            if run == nil, record.tokens <= 64, record.done == 0 { continue }
            for token in 0..<record.tokens {
                let here = DoneRanges.Position(offset: record.offset, token: token)
                if hasBit(record, token: token) {
                    if run == nil { run = here }
                } else if let from = run {
                    ranges.append(from..<here)
                    run = nil
                }
            }
        }
        guard let consumedEnd else { return ranges }
        let end = DoneRanges.Position(offset: consumedEnd, token: 0)
        if let from = run { ranges.append(from..<end) }
        for rest in inherited.runs where rest.upperBound > end && ranges.runs.count < limit {
            ranges.append(max(rest.lowerBound, end)..<rest.upperBound)
        }
        return ranges
    }

    private func index(of number: UInt32) -> Int? {
        let distance = Int(number &- firstNumber)
        return distance < recordCount ? start + distance : nil
    }

    private func hasBit(_ record: Record, token: UInt32) -> Bool {
        precondition(token < record.tokens)
        if record.tokens <= 64 { return record.done & (1 << UInt64(token)) != 0 }
        return large.contains(token, at: record.done)
    }

    @discardableResult
    private mutating func setDone(_ number: UInt32, token: UInt32) -> Bool {
        guard let index = index(of: number), !hasBit(records[index], token: token) else { return false }
        if records[index].tokens <= 64 {
            records[index].done |= 1 << UInt64(token)
        } else {
            large.insert(token, at: records[index].done)
        }
        records[index].remaining -= 1
        return true
    }
}
