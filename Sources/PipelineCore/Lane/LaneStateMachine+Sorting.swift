import APNsProtocol

/// Restricts a sorted lane to the notifications found to be its own, see ``ProbationSorter``.
extension LaneStateMachine {
    /// Waiting notifications have to be sorted before they are sent.
    public var isSorted: Bool { sortedEnd != nil }

    /// Begins sorting. Notifications handed over are the lane's own, waiting ones are to be sorted.
    mutating func beginSorting() {
        precondition(sortedEnd == nil)
        sortedEnd = sentEnd
    }

    mutating func endSorting() {
        sortedEnd = nil
    }

    /// The unsorted notifications that could otherwise be sent now.
    var sortable: Range<UInt64> {
        guard let start = sortedEnd, phase == .open, retirement == nil else { return sentEnd..<sentEnd }
        return start..<max(start, sendLimit)
    }

    /// Notifications up to `end` are the lane's own, or were dropped.
    mutating func sorted(upTo end: UInt64) {
        precondition(end <= log.tail)
        sortedEnd = sortedEnd.map { max($0, end) }
    }

    /// The waiting notification can go to another lane. Not while it is held apart from others, nor after an error,
    /// which is counted here.
    func canMove(_ entry: FrameLog.Entry) -> Bool {
        isolation == nil && entry.refusals == 0 && entry.loneCloses == 0
    }

    /// Moves a waiting notification to the end of another lane, which is responsible for it from now on.
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
