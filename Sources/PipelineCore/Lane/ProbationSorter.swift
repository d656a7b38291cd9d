/// Sends each notification over its lane or on probation, decided at the moment of sending.
///
/// An invalid token costs its connection everything sent after it. While many are called invalid, tokens that were not
/// accepted before (newcomers) go over a second lane beside their own, so that the others keep their speed. Behind each
/// newcomer goes a token that was accepted before: a witness, without which refused tokens there might never be
/// believed to be invalid, see ``TokenTrust``. The witness waits as long as the newcomers do, and later notifications
/// to any of them go behind it, so few may wait; the others go over their lane.
///
/// Order per token: a token moves only when none of its notifications is unsettled, or kept for a late answer. Two
/// rules ensure that, tokens being known by their checksum: a token in the probation lane's log stays on probation, and
/// a token that the lane's own log may contain does not begin probation. So no token is ever in both. Waiting
/// notifications stay in line in their lane and are sorted when their turn comes; those to be sent again are sorted
/// again.
public struct ProbationSorter: ~Copyable {
    /// Notifications sorted ahead of the sent ones.
    private static let ahead: UInt64 = 4096
    /// Chosen notifications that may wait on probation, witnesses included: so many that the last is sent after about
    /// ``longestWait``, if every newcomer is refused. Those that must follow their own take no place: they end with the
    /// refusal of their token, or leave at full speed behind its acceptance.
    static let places = 4...64
    static let longestWait = Duration.seconds(1)
    /// The smallest window on probation: all that waits there fits in. A smaller one would be full of good
    /// notifications between two bad ones, and each time wait until these are silent for long enough.
    static let smallestWindow = 1024

    /// Tokens that the lane's own log may hold, handed over or about to be.
    private var own = LogTokens()
    /// One past the last notification on probation, by token.
    private var moved: [UInt32: UInt64] = [:]
    /// Sequence numbers on probation of the notifications that were chosen, ascending; the others follow their own.
    private var chosen: [UInt64] = []
    /// The end of the sorted part when last looked at.
    private var sortedEnd: UInt64
    /// The next token that was accepted before becomes a witness: at first, and behind each newcomer.
    private var wantsWitness = true

    /// Begins to sort a lane.
    public init(_ lane: inout LaneStateMachine) {
        lane.beginSorting()
        sortedEnd = lane.sentEnd
        own.remake(from: lane.log, lane.log.head..<sortedEnd)
    }

    /// Ends the sorting after probation, as soon as no late answer can concern the second lane, whose connection ends.
    ///
    /// - Returns: it has ended, and the sorter is of no use any more.
    public mutating func end(
        _ lane: inout LaneStateMachine,
        probation: inout LaneStateMachine,
        now: MonotonicTime
    ) -> Bool {
        guard probation.isDrained else { return false }
        probation.retire()
        probation.evictSettled(now: now)
        guard isOver(probation) else { return false }
        lane.endSorting()
        return true
    }

    /// Nothing is on probation.
    func isOver(_ probation: borrowing LaneStateMachine) -> Bool { probation.log.head == probation.log.tail }

    /// Sorts the notifications that may be sent next.
    ///
    /// - Parameters:
    ///   - isOn: false: no further token goes on probation, except behind its own notifications there.
    ///   - accepted: the tokens that are not newcomers.
    /// - Returns: the number of notifications that went on probation.
    public mutating func sort(
        _ lane: inout LaneStateMachine,
        probation: inout LaneStateMachine,
        isOn: Bool,
        accepted: borrowing AcceptedTokens
    ) -> Int {
        let sortable = lane.sortable
        let end = min(sortable.upperBound, lane.sentEnd + Self.ahead)
        guard sortable.lowerBound < end else { return 0 }
        probation.window.smallest = Self.smallestWindow
        follow(&lane, from: sortable.lowerBound, probation)
        var count = 0
        for sequence in sortable.lowerBound..<end {
            let entry = lane.log.entry(at: sequence)
            if entry.isDropped { continue }
            let follows = followsItsOwn(entry, probation)
            if follows || isChosen(entry, lane, probation, isOn: isOn, accepted: accepted) {
                if !follows { chosen.append(probation.log.tail) }
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

    /// Catches up with the lane: notifications handed over may be in line again, and entries were forgotten.
    private mutating func follow(
        _ lane: inout LaneStateMachine,
        from start: UInt64,
        _ probation: borrowing LaneStateMachine
    ) {
        let stretch = lane.log.head..<start
        if start < sortedEnd {
            own.remake(from: lane.log, stretch)
        } else {
            own.refresh(from: lane.log, stretch)
        }
        let head = probation.log.head
        if moved.count > 2 * Int(probation.log.tail - head) { moved = moved.filter { $0.value > head } }
        if let first = chosen.first, first < head { chosen.removeAll { $0 < head } }
    }

    private func followsItsOwn(_ entry: FrameLog.Entry, _ probation: borrowing LaneStateMachine) -> Bool {
        guard !moved.isEmpty, let last = moved[entry.checksum] else { return false }
        return last > probation.log.head
    }

    /// - Parameter quietDelay: twice the time of an answer; of two places one is a newcomer's.
    static func places(quietDelay: Duration) -> Int {
        let fitting = Int(longestWait * 4 / max(quietDelay, .milliseconds(1)))
        return min(max(fitting, places.lowerBound), places.upperBound)
    }

    private func hasRoom(_ lane: borrowing LaneStateMachine, _ probation: borrowing LaneStateMachine) -> Bool {
        let most = Self.places(quietDelay: min(lane.window.quietDelay, probation.window.quietDelay))
        let latest = chosen.suffix(most)
        return latest.count < most || latest.first.map { $0 < probation.sentEnd } ?? true
    }

    private mutating func isChosen(
        _ entry: FrameLog.Entry,
        _ lane: borrowing LaneStateMachine,
        _ probation: borrowing LaneStateMachine,
        isOn: Bool,
        accepted: borrowing AcceptedTokens
    ) -> Bool {
        guard isOn else { return false }
        let isNewcomer = !accepted.contains(checksum: entry.checksum)
        guard isNewcomer || wantsWitness, hasRoom(lane, probation), lane.canMove(entry),
            !own.mayContain(checksum: entry.checksum)
        else { return false }
        wantsWitness = isNewcomer
        return true
    }
}
