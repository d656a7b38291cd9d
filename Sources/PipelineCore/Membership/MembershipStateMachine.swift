/// Decides what a member answers to its consumer group. Pure.
///
/// The way of a partition:
///
///     assigned ─▶ awaiting its start ─▶ held ─▶ leaving: settling ─▶ leaving: last commit ─▶ given back
///                      │                  └──────────────────── lost ───────────────────────────▲
///                      └──────────────── taken back, or lost, or not begun ─────────────────────┘
///
/// Every assignment and every revocation is answered, one without partitions as well. librdkafka takes part in no
/// further rebalance until it is, so that a member which has nothing to do would never take over. Each step has its
/// limit (``Limits``), but for the question about starts, which is asked until it is answered.
public struct MembershipStateMachine: Sendable {
    /// A step for the shell. Steps are taken in their order.
    public enum Action: Equatable, Sendable {
        /// Ask where partitions start, and report the answer with the question's number.
        case askPositions(of: [Int32], question: UInt64)
        /// Answer all open assignments: these partitions, possibly none, begin at the starts that were found.
        case completeAssign([Int32])
        /// Work no further on what was fetched of these partitions: the time for what is in hand is over, or they are
        /// fetched anew. None: only what was sent has not settled in time.
        case abandon([Int32])
        /// Commit the positions of these partitions, and report the end of that with the commit's number.
        case commitLast([Int32], commit: UInt64)
        /// These partitions are no longer this member's: nothing of them is done or committed any more.
        case end([Int32])
        /// Answer one revocation.
        case completeRevoke
        /// Everything is given back after a stop: the member may leave the group.
        case leave
    }

    /// The longest waits of a revocation, and of a stop.
    public struct Limits: Sendable {
        /// For what was sent to settle. What is in hand may take longer.
        public var settle: Duration
        /// For everything in hand at a revocation. The next owner does again what was not done.
        public var revoke: Duration
        /// For everything in hand at a stop.
        public var stop: Duration
        /// For the broker's answer to the last commit.
        public var commit: Duration

        /// Without `settle` and `stop` they are as long as `revoke`.
        public init(settle: Duration? = nil, revoke: Duration, stop: Duration? = nil, commit: Duration) {
            self.settle = settle ?? revoke
            self.revoke = revoke
            self.stop = stop ?? revoke
            self.commit = commit
        }
    }

    /// The present state of the role's work.
    public struct Work: Sendable {
        /// Partitions with something that is not acknowledged.
        public var inHand: Set<Int32>
        /// Everything that was sent has settled.
        public var isSettled: Bool
        /// The group stores no commit of this member.
        public var isFenced: Bool

        public init(inHand: Set<Int32>, isSettled: Bool = true, isFenced: Bool = false) {
            self.inHand = inHand
            self.isSettled = isSettled
            self.isFenced = isFenced
        }
    }

    /// Partitions being given back.
    private struct Leaving {
        enum Step: Equatable {
            /// Work in hand may end.
            case settling
            case committing(UInt64)
        }

        var partitions: Set<Int32>
        /// Until then what was sent may settle.
        var settlesUntil: MonotonicTime
        /// The end of the present step's patience.
        var deadline: MonotonicTime
        var step = Step.settling
    }

    /// Longest time from giving partitions back to the next assignment of a member that keeps its place.
    public static let rejoinPatience = Duration.seconds(60)

    /// The partitions that this member has, leaving ones included.
    public private(set) var held: Set<Int32> = []
    /// The role stops, or has stopped.
    public private(set) var isStopping = false
    /// Everything is given back after a stop.
    public private(set) var hasLeft = false
    /// An assignment, possibly empty, was answered, and none was lost since.
    public private(set) var hasJoined = false
    /// An assignment has no answer.
    public private(set) var isAssignmentOpen = false
    /// The time when partitions were given back; nil once the next assignment is answered.
    private var rejoiningSince: MonotonicTime?

    private var limits: Limits
    /// The member stays in its group when the role has given everything back, until others have, too.
    private let stays: Bool
    /// Assigned; their starts are not known yet.
    private var awaiting: Set<Int32> = []
    /// Number of the latest question about starts.
    private var questions: UInt64 = 0
    private var isAsking = false
    private var leaving: Leaving?
    /// Revocations without an answer: each needs its own, also those that are carried out together.
    private var openRevocations = 0
    /// Number of the latest last commit.
    private var commits: UInt64 = 0

    /// - Parameter stays: after a stop the member stays in its group for a while, and answers it meanwhile. False: it
    ///   leaves at once, which answers everything.
    public init(limits: Limits, stays: Bool = false) {
        self.limits = limits
        self.stays = stays
    }

    /// Goes by other limits from the next revocation on.
    public mutating func use(_ changed: Limits) { limits = changed }

    /// The partition is assigned, and its start not known yet.
    public func isAwaiting(_ partition: Int32) -> Bool { awaiting.contains(partition) }

    /// Partitions are being given back.
    public var isGivingBack: Bool { leaving != nil }

    /// Further work may be taken.
    public var mayTake: Bool { leaving == nil && !isStopping }

    /// The member has its place in the group. An empty assignment is one: the member stands by for the others. In a
    /// rebalance it keeps its place, unless the group does not take it back in time.
    public func isInGroup(now: MonotonicTime) -> Bool {
        hasJoined && rejoiningSince.map { now <= $0 + Self.rejoinPatience } ?? true
    }

    // MARK: Coming

    /// The group has assigned partitions, possibly none, beside those of assignments that are not answered yet.
    public mutating func assigned(_ partitions: [Int32]) -> [Action] {
        // Leaving the group answers it.
        guard !(stays ? hasLeft : isStopping) else { return [] }
        awaiting.formUnion(partitions)
        isAssignmentOpen = true
        return awaiting.isEmpty ? join([]) : ask()
    }

    /// Asks for starts once more if the last question failed. To be called now and then.
    public mutating func askAgain() -> [Action] {
        awaiting.isEmpty || isAsking ? [] : ask()
    }

    /// The starts of partitions are known.
    public mutating func positionsArrived(of partitions: Set<Int32>, question: UInt64) -> [Action] {
        // An answer to an older question lacks partitions, or has some that were taken back.
        guard question == questions, isAsking else { return [] }
        isAsking = false
        let known = partitions.intersection(awaiting)
        return known.count == awaiting.count ? join(known) : ask()
    }

    /// - Returns: the question was the latest one: it is to be asked again.
    @discardableResult
    public mutating func positionsFailed(question: UInt64) -> Bool {
        guard question == questions, isAsking else { return false }
        isAsking = false
        return true
    }

    private mutating func ask() -> [Action] {
        isAsking = true
        questions += 1
        return [.askPositions(of: awaiting.sorted(), question: questions)]
    }

    private mutating func join(_ partitions: Set<Int32>) -> [Action] {
        hasJoined = true
        rejoiningSince = nil
        return complete(partitions)
    }

    private mutating func complete(_ partitions: Set<Int32>) -> [Action] {
        forgetAssignments()
        // Still there only if a rebalance failed in between: what is in hand of it is fetched anew.
        let former = held.intersection(partitions)
        leaving?.partitions.subtract(former)
        held.formUnion(partitions)
        return (former.isEmpty ? [] : [.abandon(former.sorted())]) + [.completeAssign(partitions.sorted())]
    }

    private mutating func forgetAssignments() {
        awaiting = []
        isAsking = false
        isAssignmentOpen = false
    }

    /// The client could not begin partitions when their assignment was answered: the member has no place, and they are
    /// not held. They are not read here, and a commit of them would overtake their next owner.
    public mutating func notAssigned(_ partitions: [Int32]) -> [Action] {
        hasJoined = false
        return end(held.intersection(partitions))
    }

    // MARK: Going

    /// The group takes partitions back.
    ///
    /// - Parameter lost: they may be another member's already; nothing of them can be committed. Others that are being
    ///   given back still settle and are committed.
    public mutating func revoked(_ partitions: [Int32], lost: Bool, work: Work, now: MonotonicTime) -> [Action] {
        guard stays || !hasLeft else { return [] }
        openRevocations += 1
        awaiting.subtract(partitions)
        // Partitions that never began need no start, but the group waits for the answer all the same.
        let answer = isAssignmentOpen && awaiting.isEmpty ? complete([]) : []
        let held = held.intersection(partitions)
        guard lost else {
            startLeaving(held, within: limits.revoke, now: now)
            return answer + proceed(work: work, now: now)
        }
        hasJoined = false
        let ended = answer + end(held)
        leaving?.partitions.subtract(held)
        return leaving?.partitions.isEmpty ?? true ? ended + finish(now: now) : ended
    }

    /// The role stops: everything is given back, then the member leaves.
    public mutating func stop(work: Work, now: MonotonicTime) -> [Action] {
        guard !isStopping else { return [] }
        isStopping = true
        if !stays {
            awaiting = []
            isAsking = false
        }
        startLeaving(held, within: limits.stop, now: now)
        return proceed(work: work, now: now)
    }

    /// Partitions that are leaving already are committed together with these, within the limits of both.
    private mutating func startLeaving(_ partitions: Set<Int32>, within limit: Duration, now: MonotonicTime) {
        let former = leaving
        leaving = Leaving(
            partitions: partitions.union(former?.partitions ?? []),
            settlesUntil: former?.settlesUntil ?? now + limits.settle,
            deadline: min(former?.deadline ?? now + limit, now + limit)
        )
    }

    /// Takes the next step of giving partitions back, if there is one. To be called when work has ended, and now and
    /// then.
    public mutating func proceed(work: Work, now: MonotonicTime) -> [Action] {
        guard let leaving else { return [] }
        switch leaving.step {
        case .settling:
            let inHand = leaving.partitions.intersection(work.inHand)
            // A topic that does not settle must not delay the partitions of other topics for longer.
            let isPatient = !work.isSettled && now < leaving.settlesUntil || !inHand.isEmpty
            guard !isPatient || leaving.deadline <= now || work.isFenced else { return [] }
            let abandoned = work.isSettled && inHand.isEmpty ? [] : [Action.abandon(inHand.sorted())]
            // A fenced member commits nothing that the group would still store: it has gone on without this member.
            guard !work.isFenced else { return abandoned + finish(now: now) }
            commits += 1
            self.leaving?.step = .committing(commits)
            self.leaving?.deadline = now + limits.commit
            return abandoned + [.commitLast(leaving.partitions.sorted(), commit: commits)]
        case .committing:
            return leaving.deadline <= now ? finish(now: now) : []
        }
    }

    /// The broker has answered a last commit, or nothing was to be committed.
    public mutating func lastCommitEnded(_ commit: UInt64, now: MonotonicTime) -> [Action] {
        // Partitions that were revoked meanwhile have a commit of their own. The answer may come too late, too.
        guard leaving?.step == .committing(commit) else { return [] }
        return finish(now: now)
    }

    private mutating func finish(now: MonotonicTime) -> [Action] {
        let ended = end(leaving?.partitions ?? [])
        leaving = nil
        var answers: [Action] = []
        // Leaving the group answers what is open.
        if stays || !isStopping {
            answers = Array(repeating: .completeRevoke, count: openRevocations)
            openRevocations = 0
        }
        guard isStopping, !hasLeft else {
            rejoiningSince = now
            return ended + answers
        }
        hasLeft = true
        forgetAssignments()
        return ended + answers + [.leave]
    }

    private mutating func end(_ partitions: Set<Int32>) -> [Action] {
        held.subtract(partitions)
        return partitions.isEmpty ? [] : [.end(partitions.sorted())]
    }
}
