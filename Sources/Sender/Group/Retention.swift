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
        let lost = partition.feeds.values.compactMap { feed -> Range<Int64>? in
            guard let gap = feed.ledger.gap, feed.skip(to: there.low) > 0 else { return nil }
            return gap.next..<min(there.low, gap.last + 1)
        }
        guard let first = lost.map(\.lowerBound).min() else { return }
        report(partition, offset: first, there.low, lost: lost.unionCount)
    }

    /// - Parameter lost: nil: all from the offset to the beginning of the log.
    private func report(_ partition: PartitionAssignment, offset: Int64, _ low: Int64, lost: Int64? = nil) {
        let lost = lost ?? low - offset
        recordsLost += Int(lost)
        logger.critical(
            "retention has overtaken the lag: records were deleted before they were read",
            metadata: [
                "partition": "\(partition.number)", "offset": "\(offset)", "first": "\(low)", "lost": "\(lost)",
            ]
        )
    }
}

extension [Range<Int64>] {
    /// The number of values that lie in at least one of the ranges.
    fileprivate var unionCount: Int64 {
        var count: Int64 = 0
        var end = Int64.min
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound > end {
            count += range.upperBound - Swift.max(end, range.lowerBound)
            end = range.upperBound
        }
        return count
    }
}
