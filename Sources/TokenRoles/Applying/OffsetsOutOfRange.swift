import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Moves partitions on whose next offset is not in the log: an alarm and a count, never a silent reset.
///
/// They go on at the beginning of what is left. Changes are idempotent, so that this is right as well where the log was
/// made anew. Bound to the event loop of its ``RecordApplier``.
final class OffsetsOutOfRange {
    /// The first offset of a partition that has not been applied; nil: the partition is not held.
    var position: (Int32) -> Int64? = { _ in nil }
    /// Called for a partition that goes on at an offset.
    var onMoved: (Int32, Int64) -> Void = { _, _ in }

    private let consumer: any GroupConsumer
    private let source: String
    private let logger: Logger
    /// Partitions that stand still.
    private var standing: Set<Int32> = []
    private var isAsking = false
    /// Records deleted before they were read, since the start.
    private(set) var recordsLost: Int64 = 0
    /// Partitions found to end before their position, since the start.
    private(set) var beyondEnd = 0

    private static let timeoutMilliseconds: Int32 = 5_000

    init(consumer: any GroupConsumer, source: String, logger: Logger) {
        self.consumer = consumer
        self.source = source
        self.logger = logger
    }

    /// The next offset of a partition is not in the log.
    func noteStandstill(of partition: Int32) {
        // The error may have been fetched before the partition was given back.
        if position(partition) != nil { standing.insert(partition) }
    }

    func forget(_ partitions: [Int32]) { standing.subtract(partitions) }

    /// Asks for the extent of every partition that stands still. To be called again: a failure is retried with the next
    /// call.
    ///
    /// - Parameter inFlight: the partitions with records in flight, whose positions are not the ones that are out of
    ///   range. As they stand still, nothing further of them is taken, so that their time comes.
    func mend(except inFlight: () -> Set<Int32>) {
        guard !standing.isEmpty, !isAsking else { return }
        let partitions = standing.subtracting(inFlight()).sorted()
        guard !partitions.isEmpty else { return }
        isAsking = true
        consumer.watermarks(
            of: partitions.map { KafkaTopicPartition(topic: source, partition: $0) },
            timeoutMilliseconds: Self.timeoutMilliseconds
        ) { [weak self] result in
            guard let self else { return }
            isAsking = false
            switch result {
            case .success(let extents):
                for (partition, extent) in zip(partitions, extents) { mend(partition, extent) }
            case .failure(let error):
                logger.warning(
                    "log could not be asked for its beginning; trying again",
                    metadata: ["error": "\(error)"]
                )
            }
        }
    }

    private func mend(_ partition: Int32, _ extent: KafkaWatermarks) {
        guard standing.contains(partition), let next = position(partition) else { return }
        let found = PositionInLog(next: next, low: extent.low, high: extent.high)
        let target = found == .present ? max(next, extent.low) : extent.low
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [
                KafkaPartitionOffset(topic: source, partition: partition, offset: target)
            ])
        } catch {
            return logger.warning("partition could not be moved; trying again", metadata: ["error": "\(error)"])
        }
        standing.remove(partition)
        onMoved(partition, target)
        report(found, partition, next: next, extent)
    }

    private func report(_ found: PositionInLog, _ partition: Int32, next: Int64, _ extent: KafkaWatermarks) {
        var metadata: Logger.Metadata = ["source": "\(source)", "partition": "\(partition)", "offset": "\(next)"]
        switch found {
        case .present:
            // librdkafka may complain of an offset that was sought meanwhile.
            break
        case .overtaken(let lostRecords):
            recordsLost += lostRecords
            metadata["first"] = "\(extent.low)"
            metadata["lost"] = "\(lostRecords)"
            logger.critical(
                "retention has overtaken the lag: records were deleted before they were read",
                metadata: metadata
            )
        case .beyondEnd:
            beyondEnd += 1
            metadata["first"] = "\(extent.low)"
            metadata["end"] = "\(extent.high)"
            logger.critical(
                "partition ends before its committed offset; what is left is applied from its beginning",
                metadata: metadata
            )
        }
    }
}
