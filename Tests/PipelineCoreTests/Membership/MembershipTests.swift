import Testing

@testable import PipelineCore

/// The answers of a member to its group.
@Suite struct MembershipTests {
    private typealias Action = MembershipStateMachine.Action

    private static let limits = MembershipStateMachine.Limits(revoke: .seconds(10), commit: .seconds(5))
    private let start = MonotonicTime(nanoseconds: 0)

    private func machine(
        holding partitions: Int32...,
        limits: MembershipStateMachine.Limits = Self.limits,
        stays: Bool = false
    ) -> MembershipStateMachine {
        var machine = MembershipStateMachine(limits: limits, stays: stays)
        guard !partitions.isEmpty else { return machine }
        _ = machine.assigned(partitions)
        _ = machine.positionsArrived(of: Set(partitions), question: 1)
        return machine
    }

    // MARK: Coming

    @Test("An empty assignment is answered at once: the group waits for it")
    func emptyAssignment() {
        var idle = machine()
        #expect(idle.assigned([]) == [.completeAssign([])])
        var busy = machine(holding: 3)
        #expect(busy.assigned([]) == [.completeAssign([])])
        #expect(busy.held == [3])
    }

    @Test("Partitions start where the group has committed, and hold nothing before that is known")
    func positions() {
        var machine = machine()
        #expect(machine.assigned([4, 3]) == [.askPositions(of: [3, 4], question: 1)])
        #expect(machine.held.isEmpty)
        #expect(machine.positionsArrived(of: [3, 4], question: 1) == [.completeAssign([3, 4])])
        #expect(machine.held == [3, 4])
    }

    @Test("A second assignment before the first is answered drops none of the first's positions")
    func secondAssignment() {
        var machine = machine()
        _ = machine.assigned([1])
        #expect(machine.assigned([2]) == [.askPositions(of: [1, 2], question: 2)])
        #expect(machine.positionsArrived(of: [1], question: 1) == [], "an answer to half of it")
        #expect(machine.positionsArrived(of: [1, 2], question: 2) == [.completeAssign([1, 2])])
        #expect(machine.held == [1, 2])
    }

    @Test("An empty assignment beside one that waits for positions is answered together with it")
    func emptyBesideOpen() {
        var machine = machine()
        _ = machine.assigned([1])
        #expect(machine.assigned([]) == [.askPositions(of: [1], question: 2)])
        #expect(machine.positionsArrived(of: [1], question: 2) == [.completeAssign([1])])
    }

    @Test("Partitions that the client could not begin are not held, and those that it has go on")
    func notAssigned() {
        var machine = machine(holding: 3)
        _ = machine.assigned([4])
        _ = machine.positionsArrived(of: [4], question: 2)
        #expect(machine.notAssigned([4]) == [.end([4])])
        #expect(machine.held == [3] && !machine.isInGroup(now: start))
        #expect(machine.assigned([]) == [.completeAssign([])])
        #expect(machine.isInGroup(now: start))
        #expect(machine.notAssigned([]) == [], "an empty assignment may fail, too")
        #expect(!machine.isInGroup(now: start))
    }

    @Test("A question that failed is asked again, and one under way is not")
    func askingAgain() {
        var machine = machine()
        _ = machine.assigned([1])
        #expect(machine.askAgain() == [])
        machine.positionsFailed(question: 1)
        #expect(machine.askAgain() == [.askPositions(of: [1], question: 2)])
        machine.positionsFailed(question: 1)
        #expect(machine.askAgain() == [], "the failure of an older question says nothing")
    }

    @Test("Partitions that are taken back before their positions are known never begin, and every question is answered")
    func takenBack() {
        var machine = machine()
        _ = machine.assigned([1])
        let actions = machine.revoked([1], lost: false, work: [], now: start)
        #expect(actions == [.completeAssign([]), .commitLast([], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.completeRevoke])
        #expect(machine.positionsArrived(of: [1], question: 1) == [])
        #expect(machine.askAgain() == [])
        #expect(machine.held.isEmpty)
    }

    @Test("A partition that is assigned once more is fetched anew: the batch of the former assignment is dropped")
    func leftovers() {
        var machine = machine(holding: 1)
        _ = machine.assigned([1])
        #expect(machine.positionsArrived(of: [1], question: 2) == [.abandon([1]), .completeAssign([1])])
        #expect(machine.held == [1])
    }

    // MARK: Going

    @Test("Partitions are given back when their batch has ended and its positions are committed")
    func givingBack() {
        var machine = machine(holding: 1, 2)
        #expect(machine.revoked([1, 2], lost: false, work: [2], now: start) == [])
        #expect(!machine.mayTake)
        #expect(machine.proceed(work: [], now: start) == [.commitLast([1, 2], commit: 1)])
        #expect(machine.held == [1, 2])
        #expect(machine.lastCommitEnded(1, now: start) == [.end([1, 2]), .completeRevoke])
        #expect(machine.held.isEmpty && machine.mayTake)
    }

    @Test("The batch in hand is waited for in vain no longer than the patience: its partitions go without it")
    func patience() {
        var machine = machine(holding: 1, 2)
        _ = machine.revoked([1, 2], lost: false, work: [2], now: start)
        #expect(machine.proceed(work: [2], now: start + .milliseconds(9999)) == [])
        let late = start + .seconds(10)
        #expect(machine.proceed(work: [2], now: late) == [.abandon([2]), .commitLast([1, 2], commit: 1)])
    }

    @Test("An answer to the last commit that does not come holds the group for as long as it may, and comes too late")
    func lastCommit() {
        var machine = machine(holding: 1)
        _ = machine.revoked([1], lost: false, work: [], now: start)
        #expect(machine.proceed(work: [], now: start + .milliseconds(4999)) == [])
        #expect(machine.proceed(work: [], now: start + .seconds(5)) == [.end([1]), .completeRevoke])
        #expect(machine.lastCommitEnded(1, now: start) == [])
    }

    @Test("In a cooperative group a batch of partitions that stay is not waited for, and they stay")
    func cooperative() {
        var machine = machine(holding: 1, 2)
        #expect(machine.revoked([1], lost: false, work: [2], now: start) == [.commitLast([1], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.end([1]), .completeRevoke])
        #expect(machine.held == [2])
        #expect(machine.assigned([]) == [.completeAssign([])])
    }

    @Test("Lost partitions end at once, without a commit, also while they are being given back")
    func lost() {
        var machine = machine(holding: 1)
        #expect(machine.revoked([1], lost: true, work: [1], now: start) == [.end([1]), .completeRevoke])
        machine = self.machine(holding: 1)
        _ = machine.revoked([1], lost: false, work: [1], now: start)
        let actions = machine.revoked([1], lost: true, work: [1], now: start)
        #expect(actions == [.end([1]), .completeRevoke, .completeRevoke])
        #expect(machine.mayTake)
    }

    @Test("A revocation during another one waits for both, and each is answered")
    func secondRevocation() {
        var machine = machine(holding: 1, 2)
        _ = machine.revoked([1], lost: false, work: [], now: start)
        #expect(machine.revoked([2], lost: false, work: [2], now: start) == [])
        #expect(machine.lastCommitEnded(1, now: start) == [], "the commit of the first alone")
        #expect(machine.proceed(work: [], now: start) == [.commitLast([1, 2], commit: 2)])
        #expect(machine.lastCommitEnded(2, now: start) == [.end([1, 2]), .completeRevoke, .completeRevoke])
    }

    @Test("A revocation of nothing is answered")
    func emptyRevocation() {
        var machine = machine()
        #expect(machine.revoked([], lost: false, work: [], now: start) == [.commitLast([], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.completeRevoke])
    }

    // MARK: Stopping

    @Test("A stop lets the batch end, commits, and leaves; nothing is taken and no assignment begun meanwhile")
    func stop() {
        var machine = machine(holding: 1)
        #expect(machine.stop(work: [1], now: start) == [])
        #expect(!machine.mayTake)
        #expect(machine.assigned([2]) == [])
        #expect(machine.stop(work: [], now: start) == [])
        #expect(machine.proceed(work: [], now: start) == [.commitLast([1], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.end([1]), .leave])
    }

    @Test("A stop without partitions leaves at once; one that loses its partitions does not wait for its batch")
    func shortStops() {
        var machine = machine()
        #expect(machine.stop(work: [], now: start) == [.commitLast([], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.leave])
        machine = self.machine(holding: 1)
        _ = machine.stop(work: [1], now: start)
        #expect(machine.revoked([1], lost: true, work: [1], now: start) == [.end([1]), .leave])
    }

    @Test("A member that stays after a stop answers assignments until it has given everything back, and revocations")
    func staying() {
        var machine = machine(holding: 1, stays: true)
        #expect(machine.stop(work: [1], now: start) == [])
        #expect(machine.assigned([2]) == [.askPositions(of: [2], question: 2)])
        #expect(machine.positionsArrived(of: [2], question: 2) == [.completeAssign([2])])
        #expect(machine.revoked([1], lost: false, work: [1], now: start) == [])
        #expect(machine.proceed(work: [], now: start) == [.commitLast([1], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.end([1]), .completeRevoke, .leave])
        #expect(machine.hasLeft && machine.assigned([3]) == [] && machine.askAgain() == [])
        #expect(machine.revoked([2], lost: true, work: [], now: start) == [.end([2]), .completeRevoke])
    }

    // MARK: What was sent

    private static let sender = MembershipStateMachine.Limits(
        settle: .seconds(2),
        revoke: .seconds(10),
        stop: .seconds(20),
        commit: .seconds(5)
    )

    private func sender() -> MembershipStateMachine { machine(holding: 1, 2, limits: Self.sender, stays: true) }

    @Test("What was sent may settle for less long than what is in hand, and holds up nothing beyond")
    func settling() {
        var machine = sender()
        let unsettled = MembershipStateMachine.Work(inHand: [], isSettled: false)
        #expect(machine.revoked([1], lost: false, work: unsettled, now: start) == [])
        #expect(machine.proceed(work: unsettled, now: start + .milliseconds(1999)) == [])
        #expect(
            machine.proceed(work: unsettled, now: start + .seconds(2)) == [.abandon([]), .commitLast([1], commit: 1)]
        )
        machine = sender()
        _ = machine.revoked([1], lost: false, work: .init(inHand: [1], isSettled: false), now: start)
        #expect(machine.proceed(work: [1], now: start + .milliseconds(9999)) == [])
        #expect(machine.proceed(work: [1], now: start + .seconds(10)) == [.abandon([1]), .commitLast([1], commit: 1)])
    }

    @Test("A stop has a limit of its own, and does not lengthen that of a revocation under way")
    func limits() {
        var machine = sender()
        #expect(machine.stop(work: [1], now: start) == [])
        #expect(machine.proceed(work: [1], now: start + .milliseconds(19_999)) == [])
        #expect(machine.proceed(work: [1], now: start + .seconds(20)) != [])
        machine = sender()
        _ = machine.revoked([1], lost: false, work: [1], now: start)
        _ = machine.stop(work: [1], now: start + .seconds(5))
        let actions = machine.proceed(work: [1], now: start + .seconds(10))
        #expect(actions == [.abandon([1]), .commitLast([1, 2], commit: 1)])
    }

    @Test("A fenced member waits for nothing and commits nothing")
    func fenced() {
        var machine = sender()
        #expect(machine.revoked([1], lost: false, work: [1], now: start) == [])
        let actions = machine.proceed(work: .init(inHand: [1], isFenced: true), now: start)
        #expect(actions == [.abandon([1]), .end([1]), .completeRevoke])
    }

    @Test("A partition that is assigned anew while it is given back is given back no longer")
    func assignedAnew() {
        var machine = sender()
        _ = machine.revoked([1, 2], lost: false, work: [1], now: start)
        _ = machine.assigned([1])
        #expect(machine.positionsArrived(of: [1], question: 2) == [.abandon([1]), .completeAssign([1])])
        #expect(machine.proceed(work: [], now: start) == [.commitLast([2], commit: 1)])
        #expect(machine.lastCommitEnded(1, now: start) == [.end([2]), .completeRevoke])
        #expect(machine.held == [1])
    }

    // MARK: The place in the group

    @Test("A member has its place once an assignment is answered, be it empty; one that comes and goes before is none")
    func place() {
        var machine = machine()
        #expect(!machine.isInGroup(now: start))
        _ = machine.assigned([1])
        #expect(!machine.isInGroup(now: start), "the broker is asked first")
        _ = machine.revoked([1], lost: false, work: [], now: start)
        _ = machine.lastCommitEnded(1, now: start)
        #expect(!machine.isInGroup(now: start))
        _ = machine.assigned([])
        #expect(machine.isInGroup(now: start + .seconds(1_000_000)))
    }

    @Test("A member that has given its partitions back keeps its place for a minute; one that has lost them has none")
    func placeKept() {
        var machine = machine(holding: 1)
        _ = machine.revoked([1], lost: false, work: [1], now: start)
        #expect(machine.isInGroup(now: start + .seconds(9)), "its partitions are still its own")
        _ = machine.proceed(work: [], now: start + .seconds(9))
        _ = machine.lastCommitEnded(1, now: start + .seconds(10))
        #expect(machine.isInGroup(now: start + .seconds(70)))
        #expect(!machine.isInGroup(now: start + .seconds(71)))
        _ = machine.assigned([])
        #expect(machine.isInGroup(now: start + .seconds(71)))
        machine = self.machine(holding: 1)
        _ = machine.revoked([1], lost: true, work: [], now: start)
        #expect(!machine.isInGroup(now: start))
    }

    // MARK: A group

    @Test("A standby without partitions takes over, however often: it has answered every assignment")
    func standby() {
        var group = GroupModel()
        group.join()
        group.join()
        for member in 0..<6 {
            #expect(group.owners == [member], "each hands over to the next")
            group.join()
            group.leave(member)
        }
        #expect(group.owners == [6])
    }
}

/// Nothing but what is in hand of partitions.
extension MembershipStateMachine.Work: ExpressibleByArrayLiteral {
    public init(arrayLiteral partitions: Int32...) {
        self.init(inHand: Set(partitions))
    }
}

/// A group of one partition, which its oldest member has. As with librdkafka, a member that has left a question without
/// an answer takes part in no further rebalance.
private struct GroupModel {
    private struct Member {
        var machine = MembershipStateMachine(limits: .init(revoke: .seconds(10), commit: .seconds(5)))
        var hasOpenQuestion = false
        var isGone = false
    }

    private var members: [Member] = []
    private let now = MonotonicTime(nanoseconds: 0)

    /// The members that may apply records of the partition.
    var owners: [Int] { members.indices.filter { members[$0].machine.held.contains(0) } }

    mutating func join() {
        members.append(Member())
        rebalance()
    }

    mutating func leave(_ member: Int) {
        let actions = members[member].machine.stop(work: [], now: now)
        carryOut(actions, by: member)
        rebalance()
    }

    private mutating func rebalance() {
        for member in members.indices where takesPart(member) && !members[member].machine.held.isEmpty {
            members[member].hasOpenQuestion = true
            let actions = members[member].machine.revoked([0], lost: false, work: [], now: now)
            carryOut(actions, by: member)
        }
        let oldest = members.indices.first { !members[$0].isGone }
        for member in members.indices where takesPart(member) {
            members[member].hasOpenQuestion = true
            let actions = members[member].machine.assigned(member == oldest ? [0] : [])
            carryOut(actions, by: member)
        }
    }

    private func takesPart(_ member: Int) -> Bool { !members[member].isGone && !members[member].hasOpenQuestion }

    private mutating func carryOut(_ actions: [MembershipStateMachine.Action], by member: Int) {
        for action in actions {
            switch action {
            case .askPositions(_, let question):
                let next = members[member].machine.positionsArrived(of: [0], question: question)
                carryOut(next, by: member)
            case .commitLast(_, let commit):
                let next = members[member].machine.lastCommitEnded(commit, now: now)
                carryOut(next, by: member)
            case .completeAssign, .completeRevoke: members[member].hasOpenQuestion = false
            case .leave: members[member].isGone = true
            case .abandon, .end: break
            }
        }
    }
}
