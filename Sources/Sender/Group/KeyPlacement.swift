import Logging
import PipelineCore
import PushSchemas

/// Watches whether records lie in the partitions to which their keys lead, counts those that do not, and tells of them.
///
/// They are delivered all the same: only their order among records of the same key in other partitions may suffer. Of a
/// key whose partition was computed lately nothing is computed. Bound to the shard's event loop.
final class KeyPlacement {
    /// Asks the brokers for the number of partitions of push.requests; nil: they do not say. Called back on the shard's
    /// event loop.
    typealias Ask = (_ then: @escaping (Int32?) -> Void) -> Void

    /// The beginning, and the way to ask later on.
    struct Source {
        /// Number of partitions of push.requests.
        var partitionCount: Int32
        var ask: Ask
    }

    private let ask: Ask
    private let unixMilliseconds: () -> Int64
    private let clock: () -> MonotonicTime
    private let logger: Logger
    private var watch: PlacementWatch
    private var recent: RecentPlaces
    /// Number of partitions of push.requests, as last known.
    var partitionCount: Int32 { watch.partitionCount }
    /// Misplaced records by index of the topic.
    private(set) var misplaced: [Int32: Int] = [:]

    init(
        _ source: Source,
        unixMilliseconds: @escaping () -> Int64,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        ask = source.ask
        self.unixMilliseconds = unixMilliseconds
        self.clock = clock
        self.logger = logger
        watch = PlacementWatch(partitionCount: source.partitionCount, seenAt: unixMilliseconds())
        recent = RecentPlaces(partitionCount: source.partitionCount)
    }

    /// Looks at a record that the live reader has reached for the first time.
    ///
    /// - Parameters:
    ///   - key: of the record; it names the topic's bundle and the shard.
    ///   - publishedAt: asked for if the record seems to be misplaced.
    func look(
        _ key: UnsafeRawBufferPointer,
        of topic: Topic,
        shard: UInt32?,
        in partition: Int32,
        at offset: Int64,
        publishedAt: @autoclosure () -> Int64?
    ) {
        let expected = recent.partition(of: key, topic: topic.index, shard: shard)
        guard expected != partition else { return }
        watch.suspect(
            topic: topic.index,
            found: partition,
            expected: expected,
            offset: offset,
            publishedAt: publishedAt()
        )
    }

    /// Asks for the number of partitions if that decides about records.
    ///
    /// - Parameter topic: finds one by its index.
    func askIfDue(topic: @escaping (Int32) -> Topic?) {
        guard watch.takeQuestion(now: clock()) else { return }
        ask { [weak self] in self?.answered($0, topic) }
    }

    private func answered(_ count: Int32?, _ topic: (Int32) -> Topic?) {
        let former = watch.partitionCount
        for found in watch.answered(count, unixMilliseconds: unixMilliseconds(), now: clock()) {
            misplaced[found.topic, default: 0] += found.records
            guard found.isToBeTold, let topic = topic(found.topic) else { continue }
            logger.warning(
                "records do not lie in the partitions of their keys: does the publisher use another partitioner?",
                metadata: [
                    "app": "\(topic.bundleID)", "environment": "\(topic.environment)",
                    "partition": "\(found.found)", "expected": "\(found.expected)", "records": "\(found.records)",
                ]
            )
        }
        guard watch.partitionCount != former else { return }
        recent = RecentPlaces(partitionCount: watch.partitionCount)
        logger.info(
            "number of partitions changed",
            metadata: ["before": "\(former)", "now": "\(watch.partitionCount)"]
        )
    }
}

/// Partitions of the keys that were met lately.
private struct RecentPlaces {
    /// Keys with one place of their own each; a newer one takes the place of an older one. [ours]
    private static let placeBits = 8

    private struct Place {
        /// Topic and shard, which say the same as the key; 0: none.
        var key: UInt64
        var partition: Int32
    }

    private let partitionCount: Int32
    private var places = [Place](repeating: Place(key: 0, partition: 0), count: 1 << placeBits)

    init(partitionCount: Int32) {
        self.partitionCount = partitionCount
    }

    /// The partition of a key.
    mutating func partition(of key: UnsafeRawBufferPointer, topic: Int32, shard: UInt32?) -> Int32 {
        let name = UInt64(UInt32(bitPattern: topic)) << 33 | (shard.map { UInt64($0) + 2 } ?? 1)
        // Neighbouring numbers get places of their own, by Fibonacci hashing.
        let index = Int(truncatingIfNeeded: (name &* 0x9E37_79B9_7F4A_7C15) >> (64 - Self.placeBits))
        if places[index].key == name { return places[index].partition }
        let partition = KafkaPartitioner.murmur2Partition(key: key, count: partitionCount)
        places[index] = Place(key: name, partition: partition)
        return partition
    }
}
