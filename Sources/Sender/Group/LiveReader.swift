import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Takes fetched batches from the group's consumer and feeds their records; keeps those that found no room.
///
/// The twin of ``CatchUpReader``, for topics that are live. Bound to the shard's event loop.
final class LiveReader {
    private let consumer: any GroupConsumer
    private let group: Group
    private let admission: RecordAdmission
    private let intake: Intake
    private let retention: Retention
    private let batchRecords: Int
    private let logger: Logger
    private(set) var corruptFetches = CorruptFetches()
    /// Messages consumed and not looked at yet, oldest first.
    private var leftovers: [Leftover] = []
    /// Records that could not be moved come before live ones in this read.
    private var returnedComeFirst = false

    /// Messages of a consumed batch that were not looked at yet.
    private struct Leftover {
        var batch: KafkaBatch
        var next: Int
        /// The partitions as assigned when the batch was consumed: a partition assigned anew is fetched anew.
        var partitions: [Int32: PartitionAssignment]
    }

    init(
        consumer: any GroupConsumer,
        group: Group,
        admission: RecordAdmission,
        intake: Intake,
        retention: Retention,
        batchRecords: Int,
        logger: Logger
    ) {
        self.consumer = consumer
        self.group = group
        self.admission = admission
        self.intake = intake
        self.retention = retention
        self.batchRecords = batchRecords
        self.logger = logger
    }

    /// Messages were consumed and not looked at yet.
    var hasLeftovers: Bool { !leftovers.isEmpty }

    /// Feeds the next batch, or what is left of one. Records that could not be moved to another lane take turns with
    /// it.
    ///
    /// - Returns: the notifications read, as many as one prepared batch takes; `work` is nil if there was nothing to
    ///   read, else that of the records looked at, in bytes.
    func read(now: MonotonicTime) -> (batch: PreparedBatch?, work: Int?) {
        returnedComeFirst.toggle()
        if returnedComeFirst, let read = admission.takeReturned(now: now) { return read }
        guard let leftover = next() else { return admission.takeReturned(now: now) ?? (batch: nil, work: nil) }
        let batch = leftover.batch
        var index = leftover.next
        var partition: PartitionAssignment?
        intake.begin(batch, now: now)
        while index < batch.count, !intake.hasEnough {
            defer { index += 1 }
            let message = batch[index]
            if message.isError {
                if let error = message.error { report(error, of: message, now: now) }
                continue
            }
            intake.countSeen(message)
            // Consecutive messages mostly are of one partition.
            if partition?.number != message.partition { partition = leftover.partitions[message.partition] }
            guard let partition, partition.phase == .active else { continue }
            if partition.lost != nil { partition.endLoss(at: message, logger: logger) }
            admission.admitLive(message, at: index, of: partition)
            if partition.endsNearStretch(bytes: message.recordBytes) { jump(in: partition) }
        }
        let work = intake.seenWork
        let prepared = intake.end()
        if index < batch.count {
            leftovers.insert(Leftover(batch: batch, next: index, partitions: leftover.partitions), at: 0)
        }
        return (prepared, work)
    }

    /// Polls the consumer while nothing is taken in, so that the group's events come.
    ///
    /// - Parameter keepsMessages: messages fetched before the partitions were paused are kept, because they would not
    ///   be delivered again. False: nothing is taken in any more.
    func serveGroup(keepsMessages: Bool) {
        group.pause(true)
        guard let batch = consume(), keepsMessages else { return }
        leftovers.append(Leftover(batch: batch, next: 0, partitions: group.assigned))
    }

    private func next() -> Leftover? {
        if !leftovers.isEmpty { return leftovers.removeFirst() }
        return consume().map { Leftover(batch: $0, next: 0, partitions: group.assigned) }
    }

    private func consume() -> KafkaBatch? {
        consumer.consumeBatch(max: batchRecords, timeoutMilliseconds: 0)
    }

    /// Leaves out what remains before the committed offset. The catch-up reader reads it for those who lag there.
    private func jump(in partition: PartitionAssignment) {
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(partition.place, offset: partition.doneBelow)])
        } catch {
            // The records in between come all the same. They are passed, not fed.
            logger.info("near stretch is read to its end", metadata: ["error": "\(error)"])
        }
    }

    /// Handles an error in place of a message.
    private func report(_ error: KafkaError, of message: KafkaMessageView, now: MonotonicTime) {
        if error.isPartitionEnd { return }
        if error.isOffsetOutOfRange {
            retention.liveIsOutOfRange(message.partition, at: message.offset)
            return retention.mend(group.assigned)
        }
        let place = KafkaTopicPartition(topic: message.topic, partition: message.partition)
        guard !corruptFetches.note(error, of: place, offset: message.offset, now: now, logger: logger) else { return }
        logger.error(
            "consuming failed",
            metadata: ["partition": "\(message.partition)", "offset": "\(message.offset)", "error": "\(error)"]
        )
    }
}
