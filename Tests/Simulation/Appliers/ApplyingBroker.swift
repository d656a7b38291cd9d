@testable import KafkaClient

/// The broker of a world of appliers: the partitions of one Kafka topic, the positions of its group, and dead letters.
final class ApplyingBroker {
    /// The place of a record.
    struct Place: Hashable {
        var partition: Int32
        var offset: Int64
    }

    private unowned let world: ApplyingWorld
    /// The texts of the records, by partition and offset.
    private(set) var logs: [[String]]
    /// The first offset that retention has left, by partition.
    private(set) var lows: [Int64]
    private(set) var committed: [Int32: Int64] = [:]
    /// Partitions whose position somebody has set.
    private(set) var tampered: Set<Int32> = []
    private(set) var deadLetters: Set<Place> = []
    /// Nobody is answered before this time.
    var awayUntil: VirtualTime = 0
    private var commitsLostUntil: VirtualTime = 0

    init(world: ApplyingWorld) {
        self.world = world
        logs = Array(repeating: [], count: Int(world.options.partitions))
        lows = Array(repeating: 0, count: Int(world.options.partitions))
    }

    var isAway: Bool { world.clock.now < awayUntil }

    /// Time until an answer arrives now.
    func roundTrip() -> VirtualTime {
        (isAway ? awayUntil - world.clock.now : 0) + world.dice.time(1...15)
    }

    func high(_ partition: Int32) -> Int64 { Int64(logs[Int(partition)].count) }

    /// Stores a record. Some cannot be decoded, and some are of tokens that Redis refuses for good.
    func publish(_ number: Int) {
        let partition = Int32(world.dice.pick(0...Int(world.options.partitions) - 1))
        let kind = world.dice.chance(5) ? "bad" : world.dice.chance(5) ? ApplyingRedis.refused : "token"
        logs[Int(partition)].append("\(kind)-\(number)")
        world.group.wakeOwner(of: partition)
    }

    func store(_ letter: Place) {
        deadLetters.insert(letter)
        world.note(.deadLetter, Int(letter.partition), Int(letter.offset))
    }

    /// Takes a commit, if it is of a member of the present generation.
    ///
    /// - Parameter generation: the member's when it sent the commit.
    func commit(_ offsets: [KafkaPartitionOffset], by member: ApplyingMember, generation: Int) -> KafkaError? {
        guard world.group.contains(member) else { return .unknownMember }
        guard generation == world.group.generation else { return .illegalGeneration }
        let isLost = world.clock.now < commitsLostUntil
        if isLost, world.dice.chance(50) { return .timedOut }
        for offset in offsets {
            world.note(.committed, Int(offset.partition), Int(offset.offset))
            world.auditor.committed(offset.partition, offset.offset, after: committed[offset.partition])
            committed[offset.partition] = offset.offset
            tampered.remove(offset.partition)
        }
        return isLost ? .timedOut : nil
    }

    // MARK: Faults

    /// Commits are not answered, stored or not.
    func loseCommits(for time: VirtualTime) { commitsLostUntil = max(commitsLostUntil, world.clock.now + time) }

    /// Retention deletes some records, read or not.
    func retain(_ partition: Int32) {
        let index = Int(partition)
        lows[index] = Int64(world.dice.pick(Int(lows[index])...logs[index].count))
        world.group.wakeOwner(of: partition)
    }

    /// Somebody sets the group's position beyond any end that the log will have.
    func moveBeyondEnd(_ partition: Int32) {
        committed[partition] = 1_000_000
        tampered.insert(partition)
    }
}
