/// Decides, notification by notification at the moment of sending, whether a token goes over its lane or on probation.
///
/// An invalid token costs its connection everything sent after it. While many are called invalid, tokens that were not
/// accepted before go over a second lane beside their own, so that the others keep their speed. Behind each of them goes
/// one that was accepted before: a witness, without which the tokens that are refused there might never be believed to be
/// invalid, see ``TokenTrust``. It waits as long as they do, and what follows on any of them goes behind it, so
/// few may wait; the others go over their lane.
///
/// Order per token: a token moves only when nothing of it is unsettled, or kept for an answer that comes late. Two rules
/// see to that, tokens being known by their checksum: what the probation lane's log holds something of goes there, and what
/// the lane's own log may hold something of does not begin to. So no token is ever in both. What waits is in line in its lane
/// and is sorted when its turn comes; what is to be sent again is sorted again.
public struct ProbationSorter: ~Copyable {
    /// Sorted ahead of what is sent.
    private static let ahead: UInt64 = 4096
    /// Waiting on probation at most, witnesses included, unless a token must follow its own.
    static let mostWaiting = 32
    /// Decisions over which the share of newcomers is measured.
    private static let sample = 4096

    /// What the lane's own log may hold of what was handed over, or is about to be.
    private var own = LogTokens()
    /// One past the last on probation, by token.
    private var moved: [UInt32: UInt64] = [:]
    /// How far the lane was sorted when last looked at.
    private var sortedEnd: UInt64
    private var decided = 0
    private var newcomers = 0
    /// The next token that was accepted before is to be a witness: at first, and behind each newcomer.
    private var wantsWitness = true

    /// Begins to sort a lane.
    public init(_ lane: inout LaneStateMachine) {
        lane.beginSorting()
        sortedEnd = lane.sentEnd
        own.remake(from: lane.log, lane.log.head..<sortedEnd)
    }

    /// Whether the lane need not be sorted any more, given that probation is off: nothing is on probation.
    public func isOver(_ probation: borrowing LaneStateMachine) -> Bool {
        probation.log.head == probation.log.tail
    }

    /// Sorts what may be sent next.
    ///
    /// - Parameters:
    ///   - isOn: false: nothing begins to go on probation, but what follows its own still does.
    ///   - accepted: the tokens that are not newcomers.
    /// - Returns: how many went on probation.
    public mutating func sort(
        _ lane: inout LaneStateMachine,
        probation: inout LaneStateMachine,
        isOn: Bool,
        accepted: borrowing AcceptedTokens
    ) -> Int {
        let sortable = lane.sortable
        let end = min(sortable.upperBound, lane.sentEnd + Self.ahead)
        guard sortable.lowerBound < end else { return 0 }
        follow(&lane, from: sortable.lowerBound, probation)
        var count = 0
        for sequence in sortable.lowerBound..<end {
            let entry = lane.log.entry(at: sequence)
            if entry.isDropped { continue }
            if goesOnProbation(entry, lane, probation, isOn: isOn, accepted: accepted) {
                lane.move(sequence, to: &probation)
                moved[entry.checksum] = probation.log.tail
                count += 1
            } else {
                own.insert(checksum: entry.checksum)
            }
        }
        sortedEnd = end
        lane.sorted(upTo: end)
        return count
    }

    /// Keeps up with what happened since: what was handed over may be in line again, and entries were forgotten.
    private mutating func follow(
        _ lane: inout LaneStateMachine,
        from start: UInt64,
        _ probation: borrowing LaneStateMachine
    ) {
        let stretch = lane.log.head..<start
        if start < sortedEnd {
            own.remake(from: lane.log, stretch)
            // The next refusals will mostly not be this lane's.
            if !areMostNewcomers { lane.window.reopen() }
        } else {
            own.refresh(from: lane.log, stretch)
        }
        if moved.count > 2 * Int(probation.log.tail - probation.log.head) {
            let head = probation.log.head
            moved = moved.filter { $0.value > head }
        }
    }

    private mutating func goesOnProbation(
        _ entry: FrameLog.Entry,
        _ lane: borrowing LaneStateMachine,
        _ probation: borrowing LaneStateMachine,
        isOn: Bool,
        accepted: borrowing AcceptedTokens
    ) -> Bool {
        if !moved.isEmpty, let last = moved[entry.checksum], last > probation.log.head { return true }
        guard isOn else { return false }
        let isNewcomer = !accepted.contains(checksum: entry.checksum)
        note(isNewcomer)
        guard isNewcomer || wantsWitness, probation.waitingCount < Self.mostWaiting, lane.canMove(entry),
            !own.mayContain(checksum: entry.checksum)
        else { return false }
        wantsWitness = isNewcomer
        return true
    }

    private var areMostNewcomers: Bool { 2 * newcomers > decided }

    private mutating func note(_ isNewcomer: Bool) {
        if decided == Self.sample {
            decided /= 2
            newcomers /= 2
        }
        decided += 1
        if isNewcomer { newcomers += 1 }
    }
}
