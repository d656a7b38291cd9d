@testable import KafkaClient

/// One Kafka topic of a world of appliers: its partitions, its group's positions, and the records of it that are dead
/// letters.
final class ApplyingLog {
    /// The place of a record.
    struct Place: Hashable {
        var partition: Int32
        var offset: Int64
    }

    struct Entry {
        var key: [UInt8]
        /// Nil: all data about a token was removed.
        var value: [UInt8]?
        /// The changes that the record means.
        var changes: [ApplyingChange]
        /// False: it is to become a dead letter.
        var isReadable: Bool
    }

    struct Partition {
        var entries: [Entry] = []
        /// The first offset that retention has left.
        var low: Int64 = 0
        /// The group's position; nil: none is stored.
        var committed: Int64?
        /// The text that was stored with it.
        var metadata = ""
        /// An operator has set the position.
        var isTampered = false

        var high: Int64 { Int64(entries.count) }
    }

    let source: ApplyingSource
    private unowned let world: ApplyingWorld
    private(set) var partitions: [Partition]
    private(set) var deadLetters: Set<Place> = []
    private(set) lazy var group = ApplyingGroup(world: world, log: self)

    init(world: ApplyingWorld, source: ApplyingSource) {
        self.world = world
        self.source = source
        partitions = Array(repeating: Partition(), count: Int(world.options.partitions))
    }

    subscript(partition: Int32) -> Partition { partitions[Int(partition)] }

    var numbers: Range<Int32> { 0..<Int32(partitions.count) }

    /// An entry that is there.
    func entry(_ partition: Int32, _ offset: Int64) -> Entry? {
        let partition = self[partition]
        guard (partition.low..<partition.high).contains(offset) else { return nil }
        return partition.entries[Int(offset)]
    }

    func append(_ entry: Entry, to partition: Int32) {
        partitions[Int(partition)].entries.append(entry)
        group.wakeOwner(of: partition)
    }

    /// A dead letter of a record is stored.
    func bury(_ place: Place) {
        deadLetters.insert(place)
        world.note(.deadLetter, Int(place.partition), Int(place.offset), "dead letter: \(name(of: place))")
        world.auditor.deadLettered(self, place)
    }

    /// Stores the group's positions.
    func commit(_ offsets: [KafkaPartitionOffset]) {
        for offset in offsets {
            let index = Int(offset.partition)
            world.note(
                .committed,
                index,
                Int(offset.offset),
                "commit: \(name(of: .init(partition: offset.partition, offset: offset.offset)))"
            )
            world.auditor.committed(self, offset)
            partitions[index].committed = offset.offset
            partitions[index].metadata = offset.metadata
            partitions[index].isTampered = false
        }
    }

    func name(of place: Place) -> String { "\(source.topic)/\(place.partition)@\(place.offset)" }

    // MARK: Faults

    /// Deletes so many of a thousand records, read or not.
    func retain(_ partition: Int32, share: Int) {
        let (low, high) = (self[partition].low, self[partition].high)
        partitions[Int(partition)].low = low + (high - low) * Int64(share) / 1000
        group.wakeOwner(of: partition)
    }

    /// An operator sets the group's position beyond any end that the log will have.
    func moveBeyondEnd(_ partition: Int32) {
        partitions[Int(partition)].committed = 1_000_000
        partitions[Int(partition)].metadata = ""
        partitions[Int(partition)].isTampered = true
    }
}
