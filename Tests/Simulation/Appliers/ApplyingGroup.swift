/// The coordinator of the appliers' group.
///
/// As with librdkafka, a member that has not answered an assignment or a revocation joins no further rebalance. It is
/// thrown out when the patience of one is over.
final class ApplyingGroup {
    static let sessionTimeout = VirtualTime.seconds(6)
    private static let patience = VirtualTime.seconds(20)

    private unowned let world: ApplyingWorld
    private(set) var members: [ApplyingMember] = []
    private(set) var generation = 0
    private var round = 0
    private var isPreparing = false
    private var joined: Set<Int> = []

    init(world: ApplyingWorld) {
        self.world = world
    }

    func contains(_ member: ApplyingMember) -> Bool { members.contains { $0 === member } }

    func wakeOwner(of partition: Int32) {
        for member in members where member.holds(partition) { member.wake() }
    }

    func join(_ member: ApplyingMember) {
        guard !member.isGone, !contains(member) else { return }
        members.append(member)
        rebalance()
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
        for member in members {
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
        world.clock.after(Self.patience) { [self] in
            guard isPreparing, round == self.round else { return }
            let late = members.filter { !joined.contains($0.number) }
            members.removeAll { !joined.contains($0.number) }
            for member in late { member.hear(after: 0) { [unowned member] in member.lose() } }
            complete()
        }
    }

    private func complete() {
        isPreparing = false
        guard !members.isEmpty else { return }
        generation += 1
        let generation = generation
        world.note(.generation, generation, members.count)
        let wanted = target()
        for member in members {
            member.hear(after: world.dice.time(1...40)) { [self, unowned member] in
                guard generation == self.generation, contains(member) else { return }
                member.take(wanted[member.number] ?? [], generation: generation)
            }
        }
    }

    /// Evenly. In a cooperative group members keep what they have, as far as that goes, and what another still holds is
    /// given when that has let go.
    private func target() -> [Int: [Int32]] {
        var result: [Int: [Int32]] = [:]
        var free = Array(0..<world.options.partitions)
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
