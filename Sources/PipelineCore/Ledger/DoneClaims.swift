/// The done ranges that commits name while publications about the topic are not acknowledged.
///
/// A notification may be done before an older one of its token, whose outcome is still on its way: not every outcome is
/// published, and brokers may refuse publications for hours. If a commit named the newer one as done, the next owner
/// would send the older one alone, and a device would have it last. So a commit names what was done at a time only when
/// every publication that was begun before has been acknowledged. Until then it names what was named before, and the
/// next owner repeats both.
///
/// Publications are counted in rounds. A commit ends one when those of the round before are acknowledged:
///
///     done ── its round ends ──▶ noted ── acknowledged is what was begun in that round or before ──▶ claimed
///
/// So claims lag behind by one commit while publications are under way, and not at all while there are none. Pure.
public struct DoneClaims: Sendable {
    /// The time in which a publication was begun, between two commits.
    public struct Round: Equatable, Sendable {
        fileprivate var isOdd = false

        /// That of a topic's first publications.
        public static let first = Round()
    }

    private var round = Round.first
    /// Publications that are not acknowledged, of the round before.
    private var former = 0
    /// The same, of this round.
    private var latter = 0
    /// Done when the round before ended.
    private var noted: DoneRanges
    private var claimed: DoneRanges

    /// - Parameter done: the ranges of the commit that the assignment began with.
    public init(_ done: DoneRanges) {
        claimed = done
        noted = done
    }

    /// Publications that are not acknowledged.
    public var unacknowledged: Int { former + latter }

    /// A publication begins.
    ///
    /// - Parameter cause: the round of the publication that it follows from, whose place it takes; nil: of none.
    /// - Returns: the round that it is of.
    public mutating func begin(after cause: Round? = nil) -> Round {
        let own = cause ?? round
        if own == round { latter += 1 } else { former += 1 }
        return own
    }

    /// A publication is acknowledged, or is not needed any more. What follows from it has begun before.
    public mutating func end(_ own: Round) {
        if own == round { latter -= 1 } else { former -= 1 }
        assert(former >= 0 && latter >= 0, "each publication ends once")
    }

    /// The ranges that a commit names.
    ///
    /// - Parameter done: all that is done by now; asked for where a round ends.
    public mutating func claim(_ done: @autoclosure () -> DoneRanges) -> DoneRanges {
        guard former == 0 else { return claimed }
        claimed = noted
        noted = done()
        former = latter
        latter = 0
        round.isOdd.toggle()
        if former == 0 { claimed = noted }
        return claimed
    }

    /// Lets go of ranges that lie below an offset.
    public mutating func forget(below offset: Int64) {
        let start = DoneRanges.Position(offset: offset, token: 0)
        if let last = claimed.runs.last, last.upperBound <= start { claimed = DoneRanges() }
        if let last = noted.runs.last, last.upperBound <= start { noted = DoneRanges() }
    }
}
