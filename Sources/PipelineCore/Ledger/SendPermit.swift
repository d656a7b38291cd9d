/// Tells whether a worker may be sure that its partitions are still its own, hence whether it may send.
///
/// A member that the group has thrown out learns it late. What it sends until then somebody else sends, too, so it stops when
/// its commits stay unanswered, when a commit was refused to a member that is not one, and when its own loop stood still.
/// A commit that is stored, or a new assignment, gives the permit back; after a standstill only the commit: the assignment
/// may have been waiting in front of the loop as long as the loop stood.
/// Pure.
public struct SendPermit: Equatable, Sendable {
    /// The broker's word on a commit.
    public enum Answer: Equatable, Sendable {
        /// The commit is stored: the member is one, in this generation.
        case stored
        /// The group knows the member, but has not taken the commit.
        case known
        /// The group does not know the member, or not in this generation.
        case fenced
        /// Nobody knows whether the group was reached.
        case unknown
    }

    /// How long a commit may stay unanswered; and how long the loop may stand still.
    public let patience: Duration
    /// When the oldest commit without an answer was sent.
    private var unansweredSince: MonotonicTime?
    private var isFenced = false
    /// The loop stood still: nothing is sent before a commit sent since then is answered.
    private var mustHear = false
    /// Number of the last commit sent.
    private var sent: UInt64 = 0
    /// Commits up to this one were sent before the loop stood still, or in a former assignment.
    private var stale: UInt64 = 0

    public init(patience: Duration) {
        precondition(patience > .zero)
        self.patience = patience
    }

    /// Whether something may be sent now.
    public func isOpen(now: MonotonicTime) -> Bool {
        guard !isFenced, !mustHear else { return false }
        return unansweredSince.map { now < $0 + patience } ?? true
    }

    /// A commit is needed although nothing has changed: only its answer gives the permit back, or keeps it.
    ///
    /// True from the moment a commit is sent until one is answered: ask it while none is on its way.
    public var wantsCommit: Bool { mustHear || isFenced || unansweredSince != nil }

    /// A commit is on its way.
    ///
    /// - Returns: its number.
    public mutating func commitSent(now: MonotonicTime) -> UInt64 {
        sent += 1
        if unansweredSince == nil { unansweredSince = now }
        return sent
    }

    public mutating func commitAnswered(_ number: UInt64, _ answer: Answer) {
        switch answer {
        case .stored, .known:
            // A cooperative group may move on without a word to a member that keeps what it has.
            if answer == .stored { isFenced = false }
            guard number > stale else { return }
            mustHear = false
            unansweredSince = nil
        case .fenced:
            // One sent before an assignment, or a standstill, says nothing about the member that is one now.
            guard number > stale else { return }
            isFenced = true
        case .unknown:
            break
        }
    }

    /// The loop goes on after so long a time in which it did nothing.
    public mutating func loopStoodStill(for time: Duration) {
        guard time >= patience else { return }
        mustHear = true
        stale = sent
    }

    /// The group has assigned partitions anew.
    public mutating func assigned() {
        isFenced = false
        unansweredSince = nil
        stale = sent
    }

    /// No partition is left: there is nothing that could be sent twice.
    public mutating func lostAll() {
        unansweredSince = nil
    }
}
