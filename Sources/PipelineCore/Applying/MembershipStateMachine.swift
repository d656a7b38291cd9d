/// Decides what a role that applies records in batches answers to its consumer group. Pure.
///
/// The way of a partition:
///
///     assigned ─▶ awaiting its position ─▶ held ─▶ leaving: its batches end ─▶ leaving: last commit ─▶ given back
///                                           └─────────────────── lost ────────────────────────────────────▲
///
/// Every assignment and every revocation is answered, one without partitions as well. librdkafka takes part in no
/// further rebalance until it is, so that a member which has nothing to do would never take over.
public struct MembershipStateMachine: Sendable {
    /// A step for the shell. Steps are taken in their order.
    public enum Action: Equatable, Sendable {
        /// Ask for the committed positions of partitions, and report the answer with the question's number.
        case askPositions(of: [Int32], question: UInt64)
        /// Answer all open assignments: these partitions, possibly none, start at their ``positions``.
        case completeAssign([Int32])
        /// Apply nothing further of what was fetched of these partitions: the time for the batches in hand is over, or
        /// they are fetched anew.
        case abandon([Int32])
        /// Commit the positions of these partitions, and report the end of that with the commit's number.
        case commitLast([Int32], commit: UInt64)
        /// These partitions are no longer this member's: nothing of them is applied or committed any more.
        case end([Int32])
        /// Answer one revocation.
        case completeRevoke
        /// Everything is given back: leave the group.
        case leave
    }

    /// The longest waits of a revocation, and of a stop.
    public struct Limits: Sendable {
        /// For the batches in hand. The next owner applies them again, which changes nothing: changes are idempotent.
        public var batch: Duration
        /// For the broker's answer to the last commit.
        public var commit: Duration

        public init(batch: Duration, commit: Duration) {
            self.batch = batch
            self.commit = commit
        }
    }

    /// Partitions being given back.
    private struct Leaving {
        enum Step: Equatable {
            /// The batches in hand may end.
            case finishing
            case committing(UInt64)
        }

        var partitions: Set<Int32>
        var step = Step.finishing
        /// The end of the current step's patience.
        var deadline: MonotonicTime
    }

    /// The first offset that has not been applied, by held partition, leaving ones included. Negative: the beginning.
    public private(set) var positions: [Int32: Int64] = [:]
    /// The member is leaving its group, or has left it.
    public private(set) var isStopping = false
    /// An assignment, possibly empty, was answered, and none was lost since.
    private var hasJoined = false
    /// The time when partitions were given back; nil once the next assignment is answered.
    private var rejoiningSince: MonotonicTime?

    private let limits: Limits
    /// Assigned; their positions are not known yet.
    private var awaiting: Set<Int32> = []
    private var isAssignmentOpen = false
    /// Number of the latest question about positions.
    private var questions: UInt64 = 0
    private var isAsking = false
    private var leaving: Leaving?
    /// Revocations without an answer.
    private var openRevocations = 0
    /// Number of the latest last commit.
    private var commits: UInt64 = 0

    public init(limits: Limits) {
        self.limits = limits
    }

    /// The partition is assigned, and its position not known yet.
    public func isAwaiting(_ partition: Int32) -> Bool { awaiting.contains(partition) }

    /// A further batch may be taken.
    public var mayTake: Bool { leaving == nil && !isStopping }

    /// The member has its place in the group, by the rule of ``GroupReadiness``.
    public func isInGroup(now: MonotonicTime) -> Bool {
        GroupReadiness.isReady(hasJoined: hasJoined, rejoiningSince: rejoiningSince, now: now)
    }

    // MARK: Coming

    /// The group has assigned partitions, possibly none, beside those of assignments that are not answered yet.
    public mutating func assigned(_ partitions: [Int32]) -> [Action] {
        // Leaving the group answers it.
        guard !isStopping else { return [] }
        awaiting.formUnion(partitions)
        isAssignmentOpen = true
        return awaiting.isEmpty ? join([:]) : ask()
    }

    /// Asks for positions once more if the last question failed. To be called now and then.
    public mutating func askAgain() -> [Action] {
        awaiting.isEmpty || isAsking ? [] : ask()
    }

    /// The broker has told where partitions start.
    ///
    /// - Parameter starts: offsets; negative: the beginning.
    public mutating func positionsArrived(_ starts: [Int32: Int64], question: UInt64) -> [Action] {
        // An answer to an older question lacks partitions, or has some that were taken back.
        guard question == questions, isAsking else { return [] }
        isAsking = false
        let known = starts.filter { awaiting.contains($0.key) }
        return known.count == awaiting.count ? join(known) : ask()
    }

    public mutating func positionsFailed(question: UInt64) {
        if question == questions { isAsking = false }
    }

    private mutating func ask() -> [Action] {
        isAsking = true
        questions += 1
        return [.askPositions(of: awaiting.sorted(), question: questions)]
    }

    private mutating func join(_ starts: [Int32: Int64]) -> [Action] {
        hasJoined = true
        rejoiningSince = nil
        return complete(starts)
    }

    private mutating func complete(_ starts: [Int32: Int64]) -> [Action] {
        awaiting = []
        isAsking = false
        isAssignmentOpen = false
        // Still there only if a rebalance failed in between: its batch is fetched anew.
        let former = starts.keys.filter { positions[$0] != nil }.sorted()
        positions.merge(starts) { $1 }
        return (former.isEmpty ? [] : [.abandon(former)]) + [.completeAssign(starts.keys.sorted())]
    }

    /// The client could not begin partitions when their assignment was answered: the member has no place, and they are
    /// not held. They are not read here, and a commit of them would overtake their next owner.
    public mutating func notAssigned(_ partitions: [Int32]) -> [Action] {
        hasJoined = false
        return end(Set(partitions).intersection(positions.keys))
    }

    // MARK: Work

    /// A record is to be applied. False for one of a partition that is not held, and for one that librdkafka delivers a
    /// second time, as it may after a pause.
    public func wants(_ partition: Int32, offset: Int64) -> Bool {
        positions[partition].map { offset >= $0 } ?? false
    }

    /// Everything before these offsets has been applied, or is out of reach, or is to be applied again from there on.
    public mutating func moved(_ offsets: [Int32: Int64]) {
        for (partition, offset) in offsets where positions[partition] != nil { positions[partition] = offset }
    }

    // MARK: Going

    /// The group takes partitions back.
    ///
    /// - Parameters:
    ///   - lost: they may be another member's already; nothing of them can be committed.
    ///   - inHand: the partitions of the batches in hand.
    public mutating func revoked(
        _ partitions: [Int32],
        lost: Bool,
        inHand: Set<Int32>,
        now: MonotonicTime
    ) -> [Action] {
        openRevocations += 1
        awaiting.subtract(partitions)
        var actions: [Action] = []
        // Partitions that never began need no position, but the group waits for the answer all the same.
        if isAssignmentOpen, awaiting.isEmpty { actions += complete([:]) }
        let held = partitions.filter { positions[$0] != nil }
        if lost {
            hasJoined = false
            actions += end(Set(held))
            leaving?.partitions.subtract(held)
            if leaving?.partitions.isEmpty ?? true { actions += finish(now: now) }
            return actions
        }
        startLeaving(held, now: now)
        return actions + proceed(inHand: inHand, now: now)
    }

    /// The role stops: everything is given back, then the member leaves.
    public mutating func stop(inHand: Set<Int32>, now: MonotonicTime) -> [Action] {
        guard !isStopping else { return [] }
        isStopping = true
        awaiting = []
        isAsking = false
        startLeaving(Array(positions.keys), now: now)
        return proceed(inHand: inHand, now: now)
    }

    private mutating func startLeaving(_ partitions: [Int32], now: MonotonicTime) {
        guard var former = leaving else {
            leaving = Leaving(partitions: Set(partitions), deadline: now + limits.batch)
            return
        }
        let added = Set(partitions).subtracting(former.partitions)
        former.partitions.formUnion(added)
        if case .committing = former.step, !added.isEmpty {
            former.step = .finishing
            former.deadline = now + limits.batch
        }
        leaving = former
    }

    /// Takes the next step of giving partitions back, if there is one. To be called when a batch has ended, and now and
    /// then.
    public mutating func proceed(inHand: Set<Int32>, now: MonotonicTime) -> [Action] {
        guard let leaving else { return [] }
        switch leaving.step {
        case .finishing:
            let unfinished = leaving.partitions.intersection(inHand)
            guard unfinished.isEmpty || leaving.deadline <= now else { return [] }
            commits += 1
            self.leaving?.step = .committing(commits)
            self.leaving?.deadline = now + limits.commit
            return (unfinished.isEmpty ? [] : [.abandon(unfinished.sorted())])
                + [.commitLast(leaving.partitions.sorted(), commit: commits)]
        case .committing:
            return leaving.deadline <= now ? finish(now: now) : []
        }
    }

    /// The broker has answered a last commit, or nothing was to be committed.
    public mutating func lastCommitEnded(_ commit: UInt64, now: MonotonicTime) -> [Action] {
        // Partitions that were revoked meanwhile have a commit of their own.
        guard leaving?.step == .committing(commit) else { return [] }
        return finish(now: now)
    }

    private mutating func finish(now: MonotonicTime) -> [Action] {
        let ended = end(leaving?.partitions ?? [])
        leaving = nil
        // Closing answers what is open.
        if isStopping { return ended + [.leave] }
        rejoiningSince = now
        let answers = Array(repeating: Action.completeRevoke, count: openRevocations)
        openRevocations = 0
        return ended + answers
    }

    private mutating func end(_ partitions: Set<Int32>) -> [Action] {
        for partition in partitions { positions[partition] = nil }
        return partitions.isEmpty ? [] : [.end(partitions.sorted())]
    }
}
