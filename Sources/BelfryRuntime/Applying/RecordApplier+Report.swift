import KafkaClient

// What an applier tells those who operate it.

extension RecordApplier {
    /// The assigned partitions, with what waits in them.
    var partitions: [RegistrarReport.Partition] {
        consumer.assignedPartitions.map { place in
            let next = (try? consumer.positions([place]))?.first?.offset
            let lag = consumer.cachedWatermarks(place).flatMap { watermarks -> Int64? in
                guard let next, next >= 0 else { return nil }
                return max(0, watermarks.high - max(next, watermarks.low))
            }
            return .init(number: place.partition, lagRecords: lag)
        }
    }

    /// Records of push.tombstones without an acknowledgement.
    var pendingTombstones: Int { tombstones.count }

    var isRedisReady: Bool { redis.isReady }
}
