import KafkaClient

/// Pauses of partitions, and their ends at the broker.
extension Group {
    /// Pauses partitions while there is no room, so that polling brings events only. Those whose log was cut stay so.
    func pause(_ isBlocked: Bool) {
        func rests(_ partition: PartitionAssignment) -> Bool { isBlocked || partition.isCut }
        guard assigned.values.contains(where: { $0.isPaused != rests($0) }) else { return }
        for partition in active where partition.isPaused != rests(partition) {
            let place = partition.place
            do throws(KafkaError) {
                if rests(partition) { try consumer.pause([place]) } else { try consumer.resume([place]) }
                partition.isPaused = rests(partition)
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
