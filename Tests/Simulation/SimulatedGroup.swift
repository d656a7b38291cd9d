@testable import KafkaClient
@testable import SimulatedServers

/// The coordinator of the consumer group of a lane: members, generations, and who has which partition.
///
/// A rebalance goes in rounds: every member hears of it with a heartbeat, gives up what it must (all of it under eager
/// assignment, what moves under cooperative), and joins; when all have, or the patience with the others is over, the
/// next generation begins.
final class SimulatedGroup {
    static let sessionTimeout = VirtualTime.seconds(6)
    /// Time for which a rebalance waits for members that do not join.
    static let patience = VirtualTime.seconds(20)

    private enum State {
        case stable
        case preparing(round: Int)
        /// The leader assigns partitions to members.
        case completing(round: Int)
    }

    private unowned let world: World
    private let partitions: Range<Int32>
    private(set) var members: [SimulatedConsumer] = []
    private(set) var generation = 0
    private var state = State.stable
    private var joined: Set<Int> = []
    private var rounds = 0
    /// Partitions that each member was given last, by its number.
    private var given: [Int: [Int32]] = [:]
    /// The last time at which a member began or ended to read a partition.
    var movedAt: VirtualTime = 0

    /// - Parameter partitions: those of the lane.
    init(world: World, partitions: Range<Int32>) {
        self.world = world
        self.partitions = partitions
    }

    // MARK: Members

    /// A process has started and wants to be a member; under a name that the group knows it takes the place of its
    /// predecessor without a rebalance.
    func join(_ member: SimulatedConsumer) {
        guard !member.isGone else { return }
        if let staticName = member.staticName,
            let index = members.firstIndex(where: { $0.staticName == staticName && $0 !== member })
        {
            let former = members[index]
            let assignment = given.removeValue(forKey: former.number)
            members[index] = member
            joined.remove(former.number)
            // A cooperative member may have been giving partitions up: only a rebalance settles that.
            let isWhole = !world.plan.options.isCooperative
            if case .stable = state, isWhole, let assignment, former.generation == generation {
                given[member.number] = assignment
                return hand(assignment, to: member)
            }
        } else if !members.contains(where: { $0 === member }) {
            members.append(member)
        }
        if case .stable = state { return rebalance(joining: member) }
        noteJoined(member)
    }

    /// A member is not to be heard of any more, or has said goodbye.
    func remove(_ member: SimulatedConsumer) {
        guard let index = members.firstIndex(where: { $0 === member }) else { return }
        members.remove(at: index)
        given[member.number] = nil
        joined.remove(member.number)
        if members.isEmpty {
            state = .stable
            return
        }
        if case .preparing(let round) = state { completeIfAllJoined(round) } else { rebalance(joining: nil) }
    }

    func contains(_ member: SimulatedConsumer) -> Bool {
        members.contains { $0 === member }
    }

    /// The reason that a member's commit is refused; nil if it is not.
    ///
    /// - Parameter generation: the one that the commit names.
    func refusal(of member: SimulatedConsumer, in generation: Int) -> KafkaError? {
        guard contains(member) else { return .unknownMember }
        guard generation == self.generation else { return .illegalGeneration }
        if case .completing = state { return .rebalanceInProgress }
        return nil
    }

    func wakeOwner(of partition: Int32) {
        for member in members where member.owns(partition) { member.wake() }
    }

    // MARK: Rebalances

    /// A member has a reason to go through a rebalance.
    func rebalance(joining member: SimulatedConsumer?) {
        guard !members.isEmpty else { return }
        rounds += 1
        let round = rounds
        state = .preparing(round: round)
        joined = []
        for other in members where other !== member {
            // With the next heartbeat.
            other.hear(after: world.dice.time(5...400)) { [self, unowned other] in
                guard isPreparing(round), contains(other) else { return }
                other.prepareForRebalance { [self, unowned other] in
                    guard isPreparing(round), contains(other) else { return }
                    noteJoined(other)
                }
            }
        }
        if let member { noteJoined(member) }
        world.clock.after(Self.patience) { [self] in
            guard isPreparing(round) else { return }
            for late in members where !joined.contains(late.number) {
                members.removeAll { $0 === late }
                given[late.number] = nil
                late.hear(after: 0) { [unowned late] in late.lose() }
            }
            complete(round)
        }
    }

    private func isPreparing(_ round: Int) -> Bool {
        if case .preparing(round) = state { true } else { false }
    }

    private func noteJoined(_ member: SimulatedConsumer) {
        joined.insert(member.number)
        if case .preparing(let round) = state { completeIfAllJoined(round) }
    }

    private func completeIfAllJoined(_ round: Int) {
        guard members.allSatisfy({ joined.contains($0.number) }) else { return }
        complete(round)
    }

    private func complete(_ round: Int) {
        guard !members.isEmpty else {
            state = .stable
            return
        }
        generation += 1
        state = .completing(round: round)
        world.note(.generation, generation, members.count, "generation \(generation) with \(members.count) members")
        world.clock.after(world.dice.time(1...60)) { [self] in
            guard case .completing(round) = state else { return }
            state = .stable
            assign()
        }
    }

    private func assign() {
        let wanted = target()
        var mustGoOn = false
        for member in members {
            var assignment = wanted[member.number] ?? []
            if world.plan.options.isCooperative {
                // Partitions of another member are given when it has let go.
                let others = members.filter { $0 !== member }
                let free = assignment.filter { partition in !others.contains { $0.holds(partition) } }
                mustGoOn = mustGoOn || free.count < assignment.count
                assignment = free
            }
            given[member.number] = assignment
        }
        for member in members { hand(given[member.number] ?? [], to: member) }
        // A member that gave something up under cooperative assignment asks for the next round by itself.
        if mustGoOn, !members.contains(where: { !$0.surplus(over: given[$0.number] ?? []).isEmpty }) {
            rebalance(joining: nil)
        }
    }

    private func hand(_ assignment: [Int32], to member: SimulatedConsumer) {
        let generation = generation
        member.hear(after: world.dice.time(1...40)) { [self, unowned member] in
            guard contains(member), generation == self.generation else { return }
            // It goes through the next round already.
            if case .preparing = state, joined.contains(member.number) { return }
            member.take(assignment, generation: generation)
        }
    }

    /// Evenly, and as it was as far as that goes.
    private func target() -> [Int: [Int32]] {
        var result: [Int: [Int32]] = [:]
        let most = (partitions.count + members.count - 1) / members.count
        var free = Array(partitions)
        if world.plan.options.isCooperative {
            for member in members {
                let kept = Array(free.filter { member.holds($0) }.prefix(most))
                result[member.number] = kept
                free.removeAll { kept.contains($0) }
            }
        }
        for partition in free {
            let least = members.min { left, right in
                (result[left.number] ?? []).count < (result[right.number] ?? []).count
            }
            if let least { result[least.number, default: []].append(partition) }
        }
        return result
    }
}
