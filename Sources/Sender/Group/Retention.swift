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
    /// Partitions that stand still, each with the live reader's offset that does not exist.
    private var standing: [Int32: Int64] = [:]
    private var isAsking = false
    /// Records deleted before they were read.
    private(set) var recordsLost = 0
    /// Partitions found to end before their committed offset, or to have ended there before they grew.
    private(set) var offsetsBeyondEnd = 0

    init(consumer: any GroupConsumer, catchUp: CatchUpReader, logger: Logger) {
        self.consumer = consumer
        self.catchUp = catchUp
        self.logger = logger
    }

    /// The live reader's next offset is not in the log.
    ///
    /// - Parameter offset: the one that the broker refused; negative: the client does not tell.
    func liveIsOutOfRange(_ partition: Int32, at offset: Int64) { standing[partition] = offset }

    /// Asks for the extent of the log of every partition that stands still, or may end before its committed offset. A
    /// failure is retried with the next call.
    func mend(_ assigned: [Int32: PartitionAssignment]) {
        standing = standing.filter { assigned[$0.key]?.phase == .active }
        let lagging = catchUp.overtaken.keys.filter { assigned[$0] != nil }
        let near = assigned.values.filter { $0.mayEndEarly && $0.phase == .active }.map(\.number)
        let numbers = Set(standing.keys).union(lagging).union(near).sorted()
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
                if partition.mayEndEarly { checkEnd(partition, there) }
                if let refused = standing[partition.number] { mendLive(partition, refused, there) }
                if let refused = catchUp.overtaken[partition.number] { mendCursors(partition, refused, there) }
            }
        }
    }

    /// Lets a partition stand if its log ends before the committed offset.
    private func checkEnd(_ partition: PartitionAssignment, _ there: KafkaWatermarks) {
        partition.mayEndEarly = false
        let found = PositionInLog(next: partition.doneBelow, low: there.low, high: there.high)
        partition.isCut = isCut(found, partition, offset: partition.doneBelow, there)
    }

    /// Goes on at the first offset that retention left.
    ///
    /// A position beyond the end is another matter: the Kafka topic was cut or made anew, and going on from anywhere
    /// could send everything once more. Such a partition stands until an operator sets the group's offsets. So does one
    /// that has grown again: what lies before the offset was never read, and nothing says where it begins.
    private func mendLive(_ partition: PartitionAssignment, _ refused: Int64, _ there: KafkaWatermarks) {
        let expected = partition.liveNext ?? 0
        let asked = refused < 0 ? expected : refused
        let found = PositionInLog(next: expected, refused: asked, low: there.low, high: there.high)
        standing[partition.number] = nil
        if isCut(found, partition, offset: max(expected, asked), there) { return }
        // After a pause librdkafka may ask again for records taken in before, which the log no longer has.
        let next = max(expected, there.low)
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(partition.place, offset: next)])
        } catch {
            standing[partition.number] = refused
            return logger.warning("partition could not be moved; trying again", metadata: ["error": "\(error)"])
        }
        partition.moveLive(to: next)
        if case .overtaken = found { report(LostRecords(expected...there.low - 1), of: partition, there.low) }
    }

    /// Tells that a partition was cut. False: it was not.
    private func isCut(
        _ found: PositionInLog,
        _ partition: PartitionAssignment,
        offset: Int64,
        _ there: KafkaWatermarks
    ) -> Bool {
        let message: Logger.Message
        switch found {
        case .present, .overtaken: return false
        case .beyondEnd:
            message = "partition ends before its committed offset; it stands until the group's offsets are set"
        case .cut:
            message = "partition was cut before its committed offset; it stands until the group's offsets are set"
        }
        offsetsBeyondEnd += 1
        logger.critical(
            message,
            metadata: ["partition": "\(partition.number)", "offset": "\(offset)", "end": "\(there.high)"]
        )
        return true
    }

    /// Moves the cursors of lagging topics to the beginning of the log. If it was cut they stand, and the live reader
    /// goes on.
    private func mendCursors(_ partition: PartitionAssignment, _ refused: Int64, _ there: KafkaWatermarks) {
        let found = PositionInLog(next: refused, refused: refused, low: there.low, high: there.high)
        if isCut(found, partition, offset: refused, there) { return catchUp.stand(partition.number) }
        catchUp.resume(partition.number)
        guard let lost = LostRecords(partition.sortedFeeds.compactMap { $0.skip(to: there.low) }) else { return }
        report(lost, of: partition, there.low)
    }

    /// Tells at once. The first record that is left tells more when it is read.
    private func report(_ lost: LostRecords, of partition: PartitionAssignment, _ low: Int64) {
        recordsLost += Int(lost.count)
        partition.lost = LostRecords([partition.lost, lost].compactMap(\.self))
        var metadata = lost.metadata
        metadata["partition"] = "\(partition.number)"
        metadata["first"] = "\(low)"
        logger.critical(
            "retention has overtaken the lag: records were deleted before they were read",
            metadata: metadata
        )
    }
}
