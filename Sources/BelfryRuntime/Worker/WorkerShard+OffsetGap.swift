import KafkaClient
import PipelineCore

/// Positions that the broker does not have (any more): never a silent reset.
extension WorkerShard {
    /// A partition stands still because its next offset is not there.
    func noteOffsetOutOfRange(_ partition: Int32) {
        gaps.insert(partition)
        closeGaps()
    }

    /// Goes on where retention has left off, with an alarm and a count of what is gone; tried again until the broker says
    /// where that is.
    ///
    /// A position beyond the end is another matter: the topic was cut or made anew, and going on from anywhere could send
    /// everything once more. Such a partition stands until an operator sets the group's offsets.
    func closeGaps() {
        for number in gaps.sorted() {
            guard let partition = assigned[number], partition.phase == .active else {
                gaps.remove(number)
                continue
            }
            let place = KafkaTopicPartition(topic: partition.topic, partition: number)
            let expected = partition.frontier.nextOffset ?? partition.startOffset
            do throws(KafkaError) {
                let there = try consumer.watermarks(
                    of: place,
                    timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds
                )
                try close(gapAt: expected, of: place, there)
                gaps.remove(number)
            } catch {
                logger.warning(
                    "where the partition goes on could not be read; trying again",
                    metadata: ["partition": "\(number)", "error": "\(error)"]
                )
            }
        }
    }

    private func close(
        gapAt expected: Int64,
        of place: KafkaTopicPartition,
        _ there: KafkaWatermarks
    ) throws(KafkaError) {
        guard expected < there.low else {
            counters.offsetsBeyondEnd += 1
            return logger.critical(
                "the partition ends before its committed offset; it stands until the group's offsets are set",
                metadata: [
                    "partition": "\(place.partition)", "offset": "\(expected)", "end": "\(there.high)",
                ]
            )
        }
        let position = KafkaPartitionOffset(place, offset: there.low)
        try consumer.seek(to: [position], timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds)
        counters.recordsLost += Int(there.low - max(expected, 0))
        logger.critical(
            "retention has overtaken the lag: records were deleted before they were read",
            metadata: [
                "partition": "\(place.partition)", "offset": "\(expected)", "first": "\(there.low)",
                "lost": "\(there.low - max(expected, 0))",
            ]
        )
    }
}
