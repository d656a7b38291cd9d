import APNsProtocol

/// A lane that is sorted sends only what was found to be its own, see ``ProbationSorter``.
extension LaneStateMachine {
    /// Whether what waits has to be sorted before it is sent.
    public var isSorted: Bool { sortedEnd != nil }

    /// What is handed over already is the lane's own; what waits is to be sorted.
    mutating func beginSorting() {
        precondition(sortedEnd == nil)
        sortedEnd = sentEnd
    }

    public mutating func endSorting() {
        sortedEnd = nil
    }

    /// What may be sent now but for the sorting, and is not sorted.
    var sortable: Range<UInt64> {
        guard let start = sortedEnd, phase == .open, retirement == nil else { return sentEnd..<sentEnd }
        return start..<max(start, sendLimit)
    }

    /// One notification more is the lane's own, or was dropped.
    mutating func sorted(upTo end: UInt64) {
        precondition(end <= log.tail)
        sortedEnd = sortedEnd.map { max($0, end) }
    }

    /// Whether a waiting notification can go to another lane: not while it is held apart from others, or has met an error,
    /// which is counted here.
    func canMove(_ entry: FrameLog.Entry) -> Bool {
        isolation == nil && entry.refusals == 0 && entry.loneCloses == 0
    }

    /// Moves a waiting notification to the end of another lane, which answers for it from now on.
    mutating func move(_ sequence: UInt64, to other: inout LaneStateMachine) {
        precondition(sequence >= sentEnd)
        let frame = log.frame(at: sequence)
        let room = other.reserve(frame.count)
        room.copyMemory(from: frame)
        NotificationFrame.patchIdentifier(other.nextIdentifier, in: room)
        let entry = log.entry(at: sequence)
        other.commit(entry.reference, bytes: frame.count, checksum: entry.checksum)
        log.drop(at: sequence)
        if sequence == settledEnd { passDropped() }
    }
}
