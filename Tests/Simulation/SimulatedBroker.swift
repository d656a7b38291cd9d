import RequestLanes

@testable import KafkaClient

/// The broker of a world: the requests of all lanes, what is committed about them, and the groups that read.
///
/// Partitions are numbered through all lanes; see ``LaneMap``.
final class SimulatedBroker {
    /// One record as it lies in its partition.
    struct Stored {
        var record: KafkaRecord
        /// The time from which a fetch can bring it.
        var time: VirtualTime
        /// Index in the plan.
        var ordinal: Int
    }

    /// The committed position of a partition.
    struct Committed: Equatable {
        var offset: Int64
        var metadata: String
    }

    unowned let world: World
    private(set) var partitions: [[Stored]]
    private(set) var committed: [Int32: Committed] = [:]
    /// One for each lane.
    let groups: [SimulatedGroup]
    /// First offset that retention has left, by partition; 0: it took nothing.
    private(set) var low: [Int64]
    /// The same when the group committed for the first time; 0 if retention had taken nothing by then.
    private(set) var beginnings: [Int64]
    /// Partitions whose commit has expired, until it is set by hand.
    private(set) var expired: Set<Int32> = []
    /// At most one in a world.
    private(set) var cut: LogCut?
    /// The number of outcomes that were published.
    var outcomes: Int64 = 0
    /// The broker answers no client before this time.
    private(set) var awayUntil: VirtualTime = 0

    init(world: World) {
        self.world = world
        let lanes = world.laneMap
        partitions = Array(repeating: [], count: lanes.count)
        low = Array(repeating: 0, count: lanes.count)
        beginnings = low
        groups = lanes.lanes.map { SimulatedGroup(world: world, partitions: lanes.partitions(of: $0)) }
    }

    func group(of lane: RequestLane) -> SimulatedGroup { groups[world.laneMap.index(of: lane)] }

    private func group(reading partition: Int32) -> SimulatedGroup { group(of: world.laneMap.lane(of: partition)) }

    var isAway: Bool { world.clock.now < awayUntil }

    func goAway(for time: VirtualTime) {
        awayUntil = max(awayUntil, world.clock.now + time)
    }

    /// Time until an answer arrives now.
    func roundTrip() -> VirtualTime {
        let away = isAway ? awayUntil - world.clock.now : 0
        return away + world.dice.time(1...15)
    }

    /// Stores a record of a lane; offsets have holes.
    func publish(
        _ ordinal: Int,
        key: [UInt8],
        value: [UInt8],
        headers: [(name: String, value: [UInt8])] = [],
        timestampMilliseconds: Int64,
        partition: Int32
    ) {
        let next = (partitions[Int(partition)].last?.record.offset ?? -1) + 1
        let offset = next + Int64(world.dice.chance(10) ? world.dice.pick(1...5) : 0)
        let place = world.laneMap.place(of: partition)
        let record = KafkaRecord(
            topic: place.topic,
            partition: place.partition,
            offset: offset,
            key: key,
            value: value,
            timestampMilliseconds: timestampMilliseconds,
            headers: headers
        )
        let time = world.clock.now + roundTrip()
        partitions[Int(partition)].append(Stored(record: record, time: time, ordinal: ordinal))
        world.clock.at(time) { [self] in group(reading: partition).wakeOwner(of: partition) }
    }

    func watermarks(of place: KafkaTopicPartition) -> KafkaWatermarks {
        guard let partition = world.laneMap.number(of: place) else { return KafkaWatermarks(low: 0, high: outcomes) }
        return KafkaWatermarks(low: low[Int(partition)], high: end(of: partition))
    }

    func committed(_ place: KafkaTopicPartition) -> Committed? {
        world.laneMap.number(of: place).flatMap { committed[$0] }
    }

    /// Retention: the oldest records go, all but the last one.
    func deleteRecords(of partition: Int32, percent: Int) {
        let stored = partitions[Int(partition)]
        guard stored.count > 1 else { return }
        let place = min(stored.count - 1, stored.count * percent / 100)
        low[Int(partition)] = max(low[Int(partition)], stored[place].record.offset)
        if committed[partition] == nil, !expired.contains(partition) {
            beginnings[Int(partition)] = low[Int(partition)]
        }
        world.note(.fault, Int(partition), place, "partition \(partition) begins at \(low[Int(partition)]) now")
    }

    /// A leader is elected that lacks the last records of a partition.
    ///
    /// - Returns: false: there is nothing to lose, or a log was cut before.
    func cutLog(of partition: Int32, records: Int, hasEpochs: Bool, for time: VirtualTime) -> Bool {
        let stored = partitions[Int(partition)]
        guard cut == nil, !stored.isEmpty else { return false }
        let count = max(0, stored.count - records)
        let lost = Array(stored[count...])
        partitions[Int(partition)].removeLast(lost.count)
        let positions = world.workers.compactMap { $0.consumer.position(in: partition) }
        let position = CommittedPosition(committed[partition], world.plan.options)
        let known = position?.end ?? committed[partition]?.offset ?? 0
        let made = LogCut(
            partition: partition,
            end: end(of: partition),
            passed: max(known, positions.max() ?? 0),
            lost: lost,
            hasEpochs: hasEpochs,
            fetchesFrom: world.clock.now + VirtualTime(world.dice.pick(0...Int(time / 1000))) * 1000,
            questionsFrom: world.clock.now + time
        )
        cut = made
        world.auditor.cutAway(lost, of: partition, leaving: count)
        world.note(.fault, Int(partition), count, "\(partition) is cut at \(made.end), passed \(made.passed)")
        world.clock.at(made.fetchesFrom) { [self] in group(reading: partition).wakeOwner(of: partition) }
        return true
    }

    /// A client has a position that its leader refuses, because the log was cut.
    func isCut(before position: LogPosition, in partition: Int32) -> Bool {
        guard let cut, cut.partition == partition else { return false }
        return position.offset > end(of: partition)
            || cut.hasEpochs && position.isOfFormerLog && position.offset > cut.end
    }

    func answersFetches(of partition: Int32) -> Bool {
        cut.map { $0.partition != partition || $0.fetchesFrom <= world.clock.now } ?? true
    }

    /// The leader of a partition does; so do those of other Kafka topics.
    func answersQuestions(about place: KafkaTopicPartition) -> Bool {
        guard let partition = world.laneMap.number(of: place) else { return true }
        return cut.map { $0.partition != partition || $0.questionsFrom <= world.clock.now } ?? true
    }

    /// By hand, while the group has no member: a partition whose log was cut goes on there, or at a cursor before.
    ///
    /// - Returns: false: its metadata cannot be read.
    func mendCut() -> Bool {
        guard let cut, let position = CommittedPosition(committed[cut.partition], world.plan.options) else {
            return false
        }
        let offset = min(cut.end, position.lowest)
        committed[cut.partition] = Committed(offset: offset, metadata: "")
        self.cut?.isMended = true
        world.auditor.cutMended(cut)
        world.note(.committed, Int(cut.partition), Int(offset), "\(cut.partition) is set by hand to \(offset)")
        return true
    }

    /// By hand, while the group has no member: what is skipped is the operator's will.
    func setOffset(of partition: Int32, by records: Int) {
        let stored = partitions[Int(partition)]
        guard let known = committed[partition], !stored.isEmpty else { return }
        let before = place(of: known.offset, in: partition)
        let after = min(stored.count, max(0, before + records))
        world.auditor.skipped(partition, places: 0..<after)
        committed[partition] = Committed(
            offset: after < stored.count ? stored[after].record.offset : end(of: partition),
            metadata: ""
        )
        let offset = committed[partition]?.offset ?? 0
        world.note(.committed, Int(partition), after, "\(partition) is set by hand to \(offset)")
    }

    /// The commit of a partition expires, while the group has no member.
    ///
    /// - Returns: the commit; nil: there was none, or nothing could be read again, or no worker has left a mark yet.
    func forgetCommit(of partition: Int32) -> Committed? {
        guard let known = committed[partition], known.metadata != CommittedPosition.unknownMetadata,
            low[Int(partition)] < end(of: partition), world.redis.isMarked(partition)
        else { return nil }
        committed[partition] = nil
        world.note(.committed, Int(partition), 0, "the commit of \(partition) has expired")
        expired.insert(partition)
        return known
    }

    /// By hand, while the group has no member: the position of before the commit expired.
    func restoreCommit(_ known: Committed, of partition: Int32) {
        let stands = committed[partition] == nil
        world.auditor.check(stands, 1, "\(partition) was read before its offset was set")
        committed[partition] = known
        expired.remove(partition)
        world.note(.committed, Int(partition), Int(known.offset), "\(partition) is set by hand as it was")
    }

    /// By hand, while the group has no member.
    func setMetadata(_ metadata: String, of partition: Int32) {
        // The offset that it belonged to may have been set meanwhile.
        let isRepair = metadata != CommittedPosition.unknownMetadata
        guard !isRepair || committed[partition]?.metadata == CommittedPosition.unknownMetadata else { return }
        committed[partition]?.metadata = metadata
        world.note(.committed, Int(partition), 0, "metadata of \(partition) is set by hand to '\(metadata)'")
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

    /// Takes a commit of a member, made in a generation; nil: it is done.
    func commit(
        _ offsets: [KafkaPartitionOffset],
        by member: SimulatedConsumer,
        in generation: Int
    ) -> KafkaError? {
        if let refusal = member.group.refusal(of: member, in: generation) {
            world.note(.commitRefused, member.number, 0, "\(member.name) may not commit: \(refusal.name)")
            return refusal
        }
        for own in offsets.sorted(by: { $0.partition < $1.partition }) {
            guard let partition = world.laneMap.number(of: own.place), member.partitions.contains(partition) else {
                world.auditor.check(false, 3, "\(member.name) has committed \(own), which is no partition of its lane")
                continue
            }
            let offset = member.traits.written(own)
            let position = Committed(offset: offset.offset, metadata: offset.metadata)
            world.note(
                .committed,
                Int(partition),
                Int(offset.offset),
                "\(member.name) committed \(offset) \(offset.metadata)"
            )
            let former = committed[partition]
            committed[partition] = position
            world.auditor.committed(offset, meaning: own, after: former, by: member)
        }
        return nil
    }
}
