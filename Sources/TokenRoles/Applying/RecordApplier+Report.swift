import KafkaClient
import PushTopics
import TokenState

// What an applier tells those who operate it.

extension RecordApplier {
    /// An assigned partition of the topic that is applied.
    struct Partition: Sendable, Equatable {
        var number: Int32
        /// Records that have not been applied; nil: not known yet.
        var lagRecords: Int64?
    }

    /// The assigned partitions, with what has not been applied of them: what is in hand waits as well.
    var partitions: [Partition] {
        consumer.assignedPartitions.map { place in
            let watermarks = consumer.cachedWatermarks(place)
            let next = nextOffsets[place.partition]
            let lag = next.flatMap { next in watermarks.map { max(0, $0.high - max(next, $0.low)) } }
            return .init(number: place.partition, lagRecords: lag)
        }
    }

    /// Records of push.tombstones without an acknowledgement.
    var pendingTombstones: Int { tombstones.count }

    var isRedisReady: Bool { redis.isReady }
}
