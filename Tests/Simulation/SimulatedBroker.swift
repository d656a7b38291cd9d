@testable import KafkaClient

/// The broker of a world: push.requests and push.parked, what is committed about them, and the group that reads.
final class SimulatedBroker {
    /// One record as it lies in its partition.
    struct Stored {
        var record: KafkaRecord
        /// When a fetch can bring it.
        var time: VirtualTime
        /// Index in the plan.
        var ordinal: Int
    }

    /// What is committed of a partition.
    struct Committed: Equatable {
        var offset: Int64
        var metadata: String
    }

    unowned let world: World
    private(set) var partitions: [[Stored]]
    /// Of push.parked, partition by partition.
    private(set) var parked: [[KafkaRecord]]
    private(set) var committed: [Int32: Committed] = [:]
    /// Of push.parked.
    private(set) var committedParked: [Int32: Committed] = [:]
    let group: SimulatedGroup
    /// Nobody is answered before this time.
    private(set) var awayUntil: VirtualTime = 0

    init(world: World, partitions count: Int) {
        self.world = world
        partitions = Array(repeating: [], count: count)
        parked = Array(repeating: [], count: count)
        group = SimulatedGroup(world: world, partitions: count)
    }

    var isAway: Bool { world.clock.now < awayUntil }

    func goAway(for time: VirtualTime) {
        awayUntil = max(awayUntil, world.clock.now + time)
    }

    /// How long it takes to get an answer now.
    func roundTrip() -> VirtualTime {
        let away = isAway ? awayUntil - world.clock.now : 0
        return away + world.dice.time(1...15)
    }

    /// Stores a record of push.requests; offsets have holes.
    func publish(
        _ ordinal: Int,
        key: [UInt8],
        value: [UInt8],
        timestampMilliseconds: Int64,
        partition: Int32
    ) {
        let next = (partitions[Int(partition)].last?.record.offset ?? -1) + 1
        let offset = next + Int64(world.dice.chance(10) ? world.dice.pick(1...5) : 0)
        let record = KafkaRecord(
            topic: World.requests,
            partition: partition,
            offset: offset,
            key: key,
            value: value,
            timestampMilliseconds: timestampMilliseconds
        )
        let time = world.clock.now + roundTrip()
        partitions[Int(partition)].append(Stored(record: record, time: time, ordinal: ordinal))
        world.clock.at(time) { [self] in group.wakeOwner(of: partition) }
    }

    /// Stores a copy in push.parked.
    ///
    /// - Returns: its offset.
    func park(_ copy: Published, in partition: Int32) -> Int64 {
        let record = KafkaRecord(
            topic: World.names.parked,
            partition: partition,
            offset: Int64(parked[Int(partition)].count),
            key: copy.key,
            value: copy.value,
            timestampMilliseconds: Int64(world.clock.now / .milliseconds(1)),
            headers: copy.headers.map { (name: $0.0, value: $0.1) }
        )
        parked[Int(partition)].append(record)
        return record.offset
    }

    func watermarks(of place: KafkaTopicPartition) -> KafkaWatermarks {
        let isParked = place.topic == World.names.parked
        let high = isParked ? Int64(parked[Int(place.partition)].count) : end(of: place.partition)
        return KafkaWatermarks(low: 0, high: high)
    }

    func committed(_ place: KafkaTopicPartition) -> Committed? {
        place.topic == World.names.parked ? committedParked[place.partition] : committed[place.partition]
    }

    /// The place of the first record at or after an offset.
    func place(of offset: Int64, in partition: Int32) -> Int {
        let stored = partitions[Int(partition)]
        var low = 0
        var high = stored.count
        while low < high {
            let middle = (low + high) / 2
            if stored[middle].record.offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// One past the last record.
    func end(of partition: Int32) -> Int64 {
        (partitions[Int(partition)].last?.record.offset ?? -1) + 1
    }

    /// Takes a commit of a member; nil: it is done.
    func commit(_ offsets: [KafkaPartitionOffset], by member: SimulatedConsumer) -> KafkaError? {
        if let refusal = group.refusal(of: member) {
            world.note(.commitRefused, member.number, 0, "\(member.name) may not commit: \(refusal.name)")
            return refusal
        }
        for offset in offsets.sorted(by: { $0.partition < $1.partition }) {
            let position = Committed(offset: offset.offset, metadata: offset.metadata)
            world.note(
                .committed,
                Int(offset.partition),
                Int(offset.offset),
                "\(member.name) committed \(offset) \(offset.metadata)"
            )
            guard offset.topic == World.requests else {
                committedParked[offset.partition] = position
                continue
            }
            committed[offset.partition] = position
            world.auditor.committed(offset, by: member)
        }
        return nil
    }
}

extension KafkaError {
    /// An error as a broker or the client reports it.
    static func simulated(_ name: String, _ code: Int32) -> KafkaError {
        KafkaError(code: code, name: name, message: name, isRetriable: true, isFatal: false)
    }

    static let timedOut = simulated("_TIMED_OUT", -185)
    static let unknownMember = simulated("UNKNOWN_MEMBER_ID", 25)
    static let illegalGeneration = simulated("ILLEGAL_GENERATION", 22)
    static let rebalanceInProgress = simulated("REBALANCE_IN_PROGRESS", 27)
    static let purged = simulated("_PURGE_INFLIGHT", -151)
    static let queueFull = simulated("_QUEUE_FULL", -184)
    static let alreadyClosed = simulated("_DESTROY", -197)
}
