import KafkaClient

// What an applier tells those who operate it.

extension RecordApplier {
    /// The assigned partitions, with what has not been applied of them: what is in hand waits as well.
    var partitions: [RegistrarReport.Partition] {
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
