/// Decides whether a worker may send: only while its partitions are certainly its own.
///
/// A member that the group has thrown out learns it late, and until then another member sends the same notifications.
/// So it stops when its commits stay unanswered, when a commit was refused because it is no member, and when its own
/// loop stood still. A stored commit, or a new assignment, gives the permit back. After a standstill only the commit
/// does: the assignment may have waited in front of the loop for the whole standstill. Pure.
public struct SendPermit: Equatable, Sendable {
    /// The broker's answer to a commit.
    public enum Answer: Equatable, Sendable {
        /// The commit is stored: the worker is a member in this generation.
        case stored
        /// The group knows the member, but has not stored the commit.
        case known
        /// The group does not know the member, or not in this generation.
        case fenced
        /// It is unknown whether the group was reached.
        case unknown
    }

    /// The longest time without an answer to a commit. Also the longest standstill of the loop.
    public let patience: Duration
    /// The time of sending the oldest commit without an answer.
    private var unansweredSince: MonotonicTime?
    /// A commit was refused to a member that is not one, or not in this generation.
    public private(set) var isFenced = false
    /// The loop stood still: nothing is sent until a commit sent since then is answered.
    private var mustHear = false
    /// Number of the last commit sent.
    private var sent: UInt64 = 0
    /// Commits up to this number were sent before the loop stood still, or in a former assignment.
    private var stale: UInt64 = 0

    public init(patience: Duration) {
        precondition(patience > .zero)
        self.patience = patience
    }

    /// Sending is allowed now.
    public func isOpen(now: MonotonicTime) -> Bool {
        guard !isFenced, !mustHear else { return false }
        return unansweredSince.map { now < $0 + patience } ?? true
    }

    /// A commit is needed although nothing has changed: only its answer gives the permit back, or keeps it.
    ///
    /// True from the moment a commit is sent until one is answered: the caller asks while none is on its way.
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
            // A cooperative group may move on without telling a member that keeps its partitions.
            if answer == .stored { isFenced = false }
            guard number > stale else { return }
            mustHear = false
            unansweredSince = nil
        case .fenced:
            // A commit sent before an assignment, or a standstill, says nothing about the present member.
            guard number > stale else { return }
            isFenced = true
        case .unknown:
            break
        }
    }

    /// The loop goes on after doing nothing for `time`.
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
