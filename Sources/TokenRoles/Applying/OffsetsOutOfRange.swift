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
    /// Partitions that stand still, each with the offset that the broker refused.
    private var standing: [Int32: Int64] = [:]
    private var isAsking = false
    /// Records deleted before they were read, since the start.
    private(set) var recordsLost: Int64 = 0
    /// Partitions found to end before their position, or to have ended there before they grew, since the start.
    private(set) var beyondEnd = 0

    private static let timeoutMilliseconds: Int32 = 5_000

    init(consumer: any GroupConsumer, source: String, logger: Logger) {
        self.consumer = consumer
        self.source = source
        self.logger = logger
    }

    /// The next offset of a partition is not in the log.
    ///
    /// - Parameter offset: the one that the broker refused; negative: the client does not tell.
    func noteStandstill(of partition: Int32, at offset: Int64) {
        // The error may have been fetched before the partition was given back.
        guard let next = position(partition) else { return }
        standing[partition] = offset < 0 ? next : offset
    }

    func forget(_ partitions: [Int32]) {
        for partition in partitions { standing[partition] = nil }
    }

    /// Asks for the extent of every partition that stands still. To be called again: a failure is retried with the next
    /// call.
    ///
    /// - Parameter inFlight: the partitions with records in flight, whose positions are not the ones that are out of
    ///   range. As they stand still, nothing further of them is taken, so that their time comes.
    func mend(except inFlight: () -> Set<Int32>) {
        guard !standing.isEmpty, !isAsking else { return }
        let partitions = Set(standing.keys).subtracting(inFlight()).sorted()
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
        guard let refused = standing[partition], let next = position(partition) else { return }
        let found = PositionInLog(next: next, refused: refused, low: extent.low, high: extent.high)
        let target = found == .present ? max(next, extent.low) : extent.low
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [
                KafkaPartitionOffset(topic: source, partition: partition, offset: target)
            ])
        } catch {
            return logger.warning("partition could not be moved; trying again", metadata: ["error": "\(error)"])
        }
        standing[partition] = nil
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
            metadata["last"] = "\(extent.low - 1)"
            metadata["first"] = "\(extent.low)"
            metadata["lost"] = "\(lostRecords)"
            logger.critical(
                "retention has overtaken the lag: records were deleted before they were read",
                metadata: metadata
            )
        case .beyondEnd, .cut:
            beyondEnd += 1
            metadata["first"] = "\(extent.low)"
            metadata["end"] = "\(extent.high)"
            logger.critical(
                found == .cut
                    ? "partition was cut before its committed offset; what is left is applied from its beginning"
                    : "partition ends before its committed offset; what is left is applied from its beginning",
                metadata: metadata
            )
        }
    }
}
