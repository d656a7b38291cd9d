import KafkaClient

/// Pauses of partitions, and their ends at the broker.
extension Group {
    /// Pauses partitions while there is no room, so that polling brings events only.
    func pause(_ isBlocked: Bool) {
        guard assigned.values.contains(where: { $0.isPaused != isBlocked && !$0.isCut }) else { return }
        for partition in active where partition.isPaused != isBlocked && !partition.isCut {
            do throws(KafkaError) {
                if isBlocked { try consumer.pause([partition.place]) } else { try consumer.resume([partition.place]) }
                partition.isPaused = isBlocked
            } catch {
                logger.error(
                    "partition could not be paused or resumed",
                    metadata: ["partition": "\(partition.number)", "error": "\(error)"]
                )
            }
        }
    }

    /// One past the last record of a partition, as of the latest fetches.
    func end(of partition: PartitionAssignment) -> Int64? {
        consumer.cachedWatermarks(partition.place)?.high
    }

    func watermarks(of partition: PartitionAssignment) -> KafkaWatermarks? {
        consumer.cachedWatermarks(partition.place)
    }
}
