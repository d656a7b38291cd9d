/// The partitions whose messages this member may hand out.
///
/// Between a revocation and the next assignment librdkafka 2.0.2 may still yield messages fetched before; the partition
/// belongs to another member by then.
struct KafkaAssignment {
    /// A partition as librdkafka's messages name it; cheaper to compare than a topic's name.
    private struct Key: Hashable {
        var topicAddress: UInt
        var partition: Int32
    }

    /// The partitions, each with the position it was started at.
    private(set) var starts: [KafkaTopicPartition: Int64] = [:]
    /// The partitions that the application has paused.
    ///
    /// Kept here because librdkafka 2.0.2 jumps back when a partition is resumed that was not paused.
    private(set) var paused: Set<KafkaTopicPartition> = []
    /// The partitions heard of since their last start, without an error that stops them.
    ///
    /// librdkafka 2.0.2 silently loses a seek in a partition that it has not begun to fetch, or has stopped.
    private(set) var running: Set<KafkaTopicPartition> = []
    /// The partitions that were moved and not heard of since. Their position is their start, whatever librdkafka says.
    private(set) var moved: Set<KafkaTopicPartition> = []
    /// The last offsets of partitions that were read to their end, if they hold nothing to read: marks of transactions,
    /// and records of those that were aborted.
    private var unreadable: [KafkaTopicPartition: Range<Int64>] = [:]
    /// The offsets behind the last messages that were handed out since the last start, but for ``last``'s.
    ///
    /// librdkafka's position is no help: at the end of a partition it stands behind the marks of transactions, too.
    private var next: [KafkaTopicPartition: Int64] = [:]
    /// Nil: not assigned.
    private var known: [Key: KafkaTopicPartition?] = [:]
    /// Messages come in runs of one partition; the place is nil if that is not assigned.
    private var last: (key: Key, place: KafkaTopicPartition?, next: Int64)?

    var partitions: [KafkaTopicPartition] { starts.keys.sorted() }

    mutating func replace(by positions: [KafkaPartitionOffset]) {
        starts = [:]
        paused = []
        running = []
        moved = []
        unreadable = [:]
        next = [:]
        last = nil
        add(positions)
    }

    mutating func add(_ positions: [KafkaPartitionOffset]) {
        endRun()
        for position in positions {
            starts[position.place] = position.offset
            next[position.place] = nil
            paused.remove(position.place)
            running.remove(position.place)
            moved.remove(position.place)
        }
        forgetAddresses()
    }

    mutating func remove(_ places: [KafkaTopicPartition]) {
        endRun()
        for place in places {
            starts[place] = nil
            next[place] = nil
            unreadable[place] = nil
        }
        paused.subtract(places)
        running.subtract(places)
        moved.subtract(places)
        forgetAddresses()
    }

    /// Notes that partitions are paused.
    ///
    /// - Returns: the partitions that were not paused before.
    mutating func pause(_ places: [KafkaTopicPartition]) -> [KafkaTopicPartition] {
        places.filter { paused.insert($0).inserted }
    }

    /// Notes that partitions are not paused any more.
    ///
    /// - Returns: the partitions that were paused before.
    mutating func resume(_ places: [KafkaTopicPartition]) -> [KafkaTopicPartition] {
        places.filter { paused.remove($0) != nil }
    }

    /// Notes the new position of a partition.
    mutating func move(_ position: KafkaPartitionOffset) {
        guard starts[position.place] != nil else { return }
        endRun()
        starts[position.place] = position.offset
        next[position.place] = nil
        moved.insert(position.place)
        forgetAddresses()
    }

    /// Notes that an error may have stopped a partition until it is started anew.
    mutating func noteStopped(_ place: KafkaTopicPartition) {
        running.remove(place)
    }

    /// Notes that an assigned partition was read to its end, all messages before having been handed out.
    ///
    /// - Parameter end: the offset at which reading goes on.
    mutating func noteEnd(of place: KafkaTopicPartition, end: Int64) {
        endRun()
        guard let start = starts[place] else { return }
        let next = next[place] ?? start
        unreadable[place] = next >= 0 && next <= end ? next..<end : nil
    }

    /// The extent of a partition that is left to read: without offsets at its end that hold nothing to read.
    func readable(_ extent: KafkaWatermarks, of place: KafkaTopicPartition) -> KafkaWatermarks {
        guard let unreadable = unreadable[place], unreadable.upperBound == extent.high else { return extent }
        return KafkaWatermarks(low: extent.low, high: max(extent.low, unreadable.lowerBound))
    }

    /// The message belongs to an assigned partition; if so, the partition is noted as running.
    ///
    /// - Parameters:
    ///   - topicAddress: stable while a partition of the topic is assigned.
    ///   - offset: the message's.
    ///   - topic: the topic's name, asked for once.
    mutating func contains(topicAddress: UInt, partition: Int32, offset: Int64, topic: () -> String) -> Bool {
        let key = Key(topicAddress: topicAddress, partition: partition)
        if let last, last.key == key {
            self.last?.next = offset + 1
            return last.place != nil
        }
        endRun()
        let place: KafkaTopicPartition?
        if let answer = known[key] {
            place = answer
        } else {
            let named = KafkaTopicPartition(topic: topic(), partition: partition)
            place = starts[named] == nil ? nil : named
            known[key] = .some(place)
            if let place {
                running.insert(place)
                moved.remove(place)
            }
        }
        last = (key, place, offset + 1)
        return place != nil
    }

    private mutating func endRun() {
        if let last, let place = last.place { next[place] = last.next }
        last = nil
    }

    /// Forgets the addresses, the run being over. Once none of a topic is assigned, its object may be freed and the
    /// address reused.
    private mutating func forgetAddresses() {
        known.removeAll(keepingCapacity: true)
    }
}
