import KafkaClient

/// Positions that the broker refused to commit when their partitions were given back: it may do so while the group rebalances.
///
/// If a partition comes back with the very next assignment, nobody else had it, and what was done is not done again. Otherwise
/// somebody may have sent it again from the position that was committed, and only in part: to go on behind it would leave a
/// device with a notification that is not its newest.
///
/// Pure.
struct RefusedPositions {
    private var positions: [KafkaTopicPartition: KafkaPartitionOffset] = [:]

    /// Partitions are given back without a commit.
    mutating func note(_ refused: [KafkaPartitionOffset]) {
        for position in refused { positions[position.place] = position }
    }

    /// The group has moved on: what does not come back now may be somebody else's.
    ///
    /// - Parameter partitions: those of the new assignment.
    mutating func keep(_ partitions: some Collection<KafkaTopicPartition>) {
        let back = Set(partitions.map(\.partition))
        positions = positions.filter { back.contains($0.key.partition) }
    }

    /// The group may have moved on without this member.
    mutating func forgetAll() {
        positions = [:]
    }

    /// Where to go on with a partition that has come. What was done because it was parked, and where its copies lie, goes
    /// together.
    ///
    /// - Parameter committed: what the broker has.
    func furthest(_ committed: AssignmentStart) -> AssignmentStart {
        guard let own = positions[committed.source.place], own.offset >= committed.source.offset else {
            return committed
        }
        return AssignmentStart(
            source: own,
            parked: positions[committed.parked.place] ?? committed.parked,
            isRefused: true
        )
    }

    /// An assignment has begun.
    mutating func forget(_ start: AssignmentStart) {
        positions[start.source.place] = nil
        positions[start.parked.place] = nil
    }
}
