/// The coordinator of the group that applies a Kafka topic.
///
/// As with librdkafka, a member that has not answered an assignment or a revocation joins no further rebalance. It is
/// thrown out when the patience of one is over. A static member that is gone keeps its place for a session: a member
/// that comes back under its name takes it, without a rebalance.
final class ApplyingGroup {
    static let sessionTimeout = VirtualTime.seconds(6)
    private static let patience = VirtualTime.seconds(20)

    private unowned let world: ApplyingWorld
    private unowned let log: ApplyingLog
    private(set) var members: [ApplyingMember] = []
    private(set) var generation = 0
    private var round = 0
    private var isPreparing = false
    private var joined: Set<Int> = []
    /// Of the present generation, by member.
    private var assignments: [Int: [Int32]] = [:]

    init(world: ApplyingWorld, log: ApplyingLog) {
        self.world = world
        self.log = log
    }

    /// Forgets all members: the end of a world.
    func dissolve() { members = [] }

    func contains(_ member: ApplyingMember) -> Bool { members.contains { $0 === member } }

    func wakeOwner(of partition: Int32) {
        for member in members where member.holds(partition) { member.wake() }
    }

    func join(_ member: ApplyingMember) {
        guard !member.isGone, !contains(member) else { return }
        guard let place = members.firstIndex(where: { $0.isGone && $0.name != nil && $0.name == member.name }) else {
            members.append(member)
            return rebalance()
        }
        let assignment = assignments.removeValue(forKey: members[place].number)
        members[place] = member
        // A cooperative member may have been giving partitions up: only a rebalance settles that.
        guard !world.options.isCooperative else { return rebalance() }
        assignments[member.number] = assignment
        if isPreparing { invite(member) } else { give(member) }
    }

    /// The member has left, or was not heard of for a session.
    func remove(_ member: ApplyingMember) {
        guard contains(member) else { return }
        members.removeAll { $0 === member }
        rebalance()
    }

    func rebalance() {
        round += 1
        joined = []
        isPreparing = !members.isEmpty
        guard isPreparing else { return }
        let round = round
        for member in members { invite(member) }
        world.clock.after(Self.patience) { [self] in
            guard isPreparing, round == self.round else { return }
            let late = members.filter { !joined.contains($0.number) }
            members.removeAll { !joined.contains($0.number) }
            for member in late { member.hear(after: 0) { [unowned member] in member.lose() } }
            complete()
        }
    }

    private func invite(_ member: ApplyingMember) {
        let round = round
        // With the next heartbeat.
        member.hear(after: world.dice.time(5...400)) { [self, unowned member] in
            guard isPreparing, round == self.round, contains(member) else { return }
            member.prepare { [self, unowned member] in
                guard isPreparing, round == self.round, contains(member) else { return }
                joined.insert(member.number)
                if members.allSatisfy({ joined.contains($0.number) }) { complete() }
            }
        }
    }

    private func complete() {
        isPreparing = false
        guard !members.isEmpty else { return }
        generation += 1
        world.note(
            .generation,
            generation,
            members.count,
            "\(log.source.topic): generation \(generation) of \(members.map(\.number))"
        )
        assignments = target()
        for member in members { give(member) }
    }

    /// Tells a member its assignment.
    private func give(_ member: ApplyingMember) {
        let generation = generation
        member.hear(after: world.dice.time(1...40)) { [self, unowned member] in
            guard generation == self.generation, contains(member) else { return }
            // It goes through the next round already.
            if isPreparing, joined.contains(member.number) { return }
            member.take(assignments[member.number] ?? [], generation: generation)
        }
    }

    /// Evenly. In a cooperative group members keep what they have, as far as that goes, and what another still holds is
    /// given when that has let go.
    private func target() -> [Int: [Int32]] {
        var result: [Int: [Int32]] = [:]
        var free = Array(log.numbers)
        if world.options.isCooperative {
            let most = (Int(world.options.partitions) + members.count - 1) / members.count
            for member in members {
                let held = free.filter { member.holds($0) }
                result[member.number] = Array(held.prefix(most))
                free.removeAll { held.contains($0) }
            }
        }
        for partition in free {
            let least = members.min { (result[$0.number] ?? []).count < (result[$1.number] ?? []).count }
            if let least { result[least.number, default: []].append(partition) }
        }
        return result
    }
}
