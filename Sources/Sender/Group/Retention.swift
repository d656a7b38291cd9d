import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Handles positions that are not (or no longer) in the log: an alarm and a count, never a silent reset.
///
/// Bound to the shard's event loop.
final class Retention {
    private let consumer: any GroupConsumer
    private let catchUp: CatchUpReader
    private let logger: Logger
    /// Partitions that stand still because the live reader's next offset does not exist.
    private var standing: Set<Int32> = []
    private var isAsking = false
    /// Records deleted before they were read.
    private(set) var recordsLost = 0
    /// Partitions found to end before their committed offset.
    private(set) var offsetsBeyondEnd = 0

    init(consumer: any GroupConsumer, catchUp: CatchUpReader, logger: Logger) {
        self.consumer = consumer
        self.catchUp = catchUp
        self.logger = logger
    }

    /// The live reader's next offset is not in the log.
    func liveIsOutOfRange(_ partition: Int32) { standing.insert(partition) }

    /// Asks for the beginning of the log of every partition that stands still. A failure is retried with the next call.
    func mend(_ assigned: [Int32: PartitionAssignment]) {
        standing = standing.filter { assigned[$0]?.phase == .active }
        let numbers = standing.union(catchUp.overtaken.filter { assigned[$0] != nil }).sorted()
        let partitions = numbers.compactMap { assigned[$0] }
        guard !partitions.isEmpty, !isAsking else { return }
        isAsking = true
        consumer.watermarks(
            of: partitions.map(\.place),
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [weak self] result in
            self?.answered(result, partitions)
        }
    }

    private func answered(_ result: Result<[KafkaWatermarks], KafkaError>, _ partitions: [PartitionAssignment]) {
        isAsking = false
        switch result {
        case .failure(let error):
            logger.warning("log could not be asked for its beginning; trying again", metadata: ["error": "\(error)"])
        case .success(let watermarks):
            for (partition, there) in zip(partitions, watermarks) where partition.phase == .active {
                if standing.contains(partition.number) { mendLive(partition, there) }
                if catchUp.overtaken.contains(partition.number) { mendCursors(partition, there) }
            }
        }
    }

    /// Goes on at the first offset that retention left.
    ///
    /// A position beyond the end is another matter: the Kafka topic was cut or made anew, and going on from anywhere
    /// could send everything once more. Such a partition stands until an operator sets the group's offsets.
    private func mendLive(_ partition: PartitionAssignment, _ there: KafkaWatermarks) {
        let expected = partition.liveNext ?? 0
        let found = PositionInLog(next: expected, low: there.low, high: there.high)
        standing.remove(partition.number)
        guard found != .beyondEnd else {
            offsetsBeyondEnd += 1
            return logger.critical(
                "partition ends before its committed offset; it stands until the group's offsets are set",
                metadata: [
                    "partition": "\(partition.number)", "offset": "\(expected)", "end": "\(there.high)",
                ]
            )
        }
        // After a pause librdkafka may ask again for records taken in before, which the log no longer has.
        let next = max(expected, there.low)
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(partition.place, offset: next)])
        } catch {
            standing.insert(partition.number)
            return logger.warning("partition could not be moved; trying again", metadata: ["error": "\(error)"])
        }
        partition.moveLive(to: next)
        if case .overtaken = found { report(partition, offset: expected, there.low) }
    }

    /// Moves the cursors of lagging topics to the beginning of the log.
    private func mendCursors(_ partition: PartitionAssignment, _ there: KafkaWatermarks) {
        catchUp.resume(partition.number)
        for feed in partition.sortedFeeds {
            guard let next = feed.ledger.gap?.next else { continue }
            let skipped = feed.skip(to: there.low)
            if skipped > 0 { report(partition, offset: next, there.low) }
        }
    }

    private func report(_ partition: PartitionAssignment, offset: Int64, _ low: Int64) {
        recordsLost += Int(low - offset)
        logger.critical(
            "retention has overtaken the lag: records were deleted before they were read",
            metadata: [
                "partition": "\(partition.number)", "offset": "\(offset)", "first": "\(low)", "lost": "\(low - offset)",
            ]
        )
    }
}
