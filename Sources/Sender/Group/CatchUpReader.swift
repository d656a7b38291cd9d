import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Rereads the log for lagging topics, beside the group's consumer.
///
/// One client for all partitions of the shard, made when first needed and closed when idle; a few partitions at a time,
/// see ``CatchUpSlots``. Bound to the shard's event loop.
final class CatchUpReader {
    private let makeReader: () throws(KafkaError) -> any PartitionReader
    private let admission: RecordAdmission
    private let intake: Intake
    private let logger: Logger
    private(set) var corruptFetches = CorruptFetches()
    private var reader: (any PartitionReader)?
    private var slots = CatchUpSlots(count: ShardLimits.catchUpPartitions)
    /// No attempt is made before this time.
    private var nextAttempt = MonotonicTime(nanoseconds: 0)
    private var idleSince: MonotonicTime?
    /// Records read and not looked at yet.
    private var leftovers: [KafkaTopicPartition: (batch: KafkaBatch, next: Int)] = [:]
    /// Partitions read for the time of publishing at a cursor alone, with the offset at which that reading began.
    private var looks: [KafkaTopicPartition: Int64] = [:]
    /// The index of the first partition in the next turn.
    private var turn = 0
    /// Partitions whose log does not have the next records of a topic, each with the offset that the broker refused.
    private(set) var overtaken: [Int32: Int64] = [:]
    /// Partitions that were cut: nothing of them is read again.
    private var cut: Set<Int32> = []

    init(
        admission: RecordAdmission,
        intake: Intake,
        logger: Logger,
        makeReader: @escaping () throws(KafkaError) -> any PartitionReader
    ) {
        self.admission = admission
        self.intake = intake
        self.logger = logger
        self.makeReader = makeReader
    }

    /// Continues reading one partition with a topic that may be fed; the partitions take turns.
    ///
    /// - Returns: the notifications read; nil: nothing was read.
    func read(_ partitions: [PartitionAssignment], now: MonotonicTime) -> (batch: PreparedBatch?, hasRead: Bool) {
        let behind = partitions.filter { partition in
            if partition.feeds.values.contains(where: { !$0.ledger.isLive }) { return true }
            // At the end of the log nothing tells the reader that it has caught up.
            if slots.holds(partition.number) { halt(partition) }
            return false
        }
        guard !behind.isEmpty else {
            closeIfIdle(now: now)
            return (nil, false)
        }
        idleSince = nil
        for step in 0..<behind.count {
            let partition = behind[(turn + step) % behind.count]
            guard prepare(partition, now: now), let start = partition.catchUp.position,
                let (batch, first) = next(of: partition)
            else { continue }
            turn = (turn + step + 1) % behind.count
            if partition.lost != nil, first < batch.count { partition.endLoss(at: batch[first], logger: logger) }
            intake.begin(batch, now: now)
            let stop = admission.admitBehind(batch, from: first, of: partition, start: start)
            switch stop {
            case .atEnd: break
            // The reader has passed the remaining records.
            case .live: halt(partition)
            case .enough(let next): leftovers[partition.place] = (batch, next)
            case .failed(let error, let offset): report(error, at: offset, partition, now: now)
            }
            return (intake.end(), true)
        }
        return (nil, false)
    }

    private func next(of partition: PartitionAssignment) -> (KafkaBatch, Int)? {
        if let leftover = leftovers.removeValue(forKey: partition.place) { return (leftover.batch, leftover.next) }
        return reader?.read(partition.place, max: ShardLimits.catchUpRecords).map { ($0, 0) }
    }

    /// Starts or moves the reading of a partition as its topics need it. False: nothing is to be read there now.
    private func prepare(_ partition: PartitionAssignment, now: MonotonicTime) -> Bool {
        guard overtaken[partition.number] == nil, !cut.contains(partition.number), nextAttempt <= now else {
            return false
        }
        if slots.isOver(partition.number, now: now) {
            halt(partition)
            return false
        }
        let candidates = partition.feeds.values.compactMap { feed -> CatchUp.Candidate? in
            guard let gap = feed.ledger.gap, admission.wants(feed) else { return nil }
            return CatchUp.Candidate(topic: feed.hash, next: gap.next)
        }
        do throws(KafkaError) {
            switch partition.catchUp.decide(candidates) {
            case .stop:
                if try !lookAtCursors(of: partition, now: now) { stop(partition) }
                return false
            case .begin(let offset):
                guard slots.takeSlot(for: partition.number, now: now) else {
                    partition.catchUp.halt()
                    return false
                }
                leftovers[partition.place] = nil
                looks[partition.place] = nil
                try open().begin(partition.place, at: offset)
            case .goOn:
                break
            }
            return true
        } catch {
            halt(partition)
            nextAttempt = now + ShardLimits.retryInterval
            logger.warning("catching up failed; trying again", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Learns when the records at cursors that were taken over were published, while no topic of the partition may be
    /// fed: the time until retention reaches them is to be known all the same.
    ///
    /// - Returns: false: nothing is to be learnt, or no slot is free.
    private func lookAtCursors(of partition: PartitionAssignment, now: MonotonicTime) throws(KafkaError) -> Bool {
        let unknown = partition.feeds.values.filter(\.lacksPublishedAt)
        guard let first = unknown.compactMap(\.ledger.cursor).min() else { return false }
        guard let start = looks[partition.place] else {
            guard slots.takeSlot(for: partition.number, now: now) else { return false }
            try open().begin(partition.place, at: first)
            looks[partition.place] = first
            return true
        }
        guard let batch = reader?.read(partition.place, max: ShardLimits.catchUpRecords) else { return true }
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error, !error.isPartitionEnd {
                report(error, at: message.offset, partition, now: now)
                return true
            }
            if partition.lost != nil { partition.endLoss(at: message, logger: logger) }
            // At the end of the log nothing tells the time of those that are left.
            let end = message.isError ? .max : message.offset
            for feed in unknown where feed.lacksPublishedAt {
                guard let cursor = feed.ledger.cursor, start <= cursor, cursor <= end else { continue }
                feed.lookedAtCursor(publishedAt: message.isError ? nil : message.timestampMilliseconds)
            }
        }
        return false
    }

    private func open() throws(KafkaError) -> any PartitionReader {
        if let reader { return reader }
        let made = try makeReader()
        reader = made
        return made
    }

    private func stop(_ partition: PartitionAssignment) {
        leftovers[partition.place] = nil
        looks[partition.place] = nil
        if slots.holds(partition.number) { reader?.stop(partition.place) }
        slots.giveBack(partition.number)
    }

    private func halt(_ partition: PartitionAssignment) {
        stop(partition)
        partition.catchUp.halt()
    }

    private func report(_ error: KafkaError, at offset: Int64, _ partition: PartitionAssignment, now: MonotonicTime) {
        let position = partition.catchUp.position ?? looks[partition.place] ?? 0
        defer { halt(partition) }
        if error.isOffsetOutOfRange {
            overtaken[partition.number] = offset < 0 ? position : offset
        } else {
            nextAttempt = now + ShardLimits.retryInterval
            let isNoted = corruptFetches.note(error, of: partition.place, offset: position, now: now, logger: logger)
            guard !isNoted else { return }
            logger.error(
                "catching up failed",
                metadata: ["partition": "\(partition.number)", "error": "\(error)"]
            )
        }
    }

    /// Resumes a partition whose log begins at a known offset: its topics go on from there.
    func resume(_ partition: Int32) { overtaken[partition] = nil }

    /// Reads nothing more of a partition while this shard has it: the log is another than the one with the cursors.
    func stand(_ partition: Int32) {
        overtaken[partition] = nil
        cut.insert(partition)
    }

    /// Forgets a partition that is gone, or being given back.
    func forget(_ partition: PartitionAssignment) {
        halt(partition)
        overtaken[partition.number] = nil
        cut.remove(partition.number)
    }

    private func closeIfIdle(now: MonotonicTime) {
        guard reader != nil else { return }
        guard let since = idleSince else {
            idleSince = now
            return
        }
        if since + ShardLimits.readerIdle <= now { close() }
    }

    /// Closes the client; it is made again when needed.
    func close() {
        reader?.close()
        reader = nil
        slots = CatchUpSlots(count: slots.count)
        leftovers = [:]
        looks = [:]
        idleSince = nil
    }
}

/// The point at which a batch of the catch-up reader was left.
enum CatchUpStop {
    case atEnd
    /// The batch has reached the live reader's position: the rest of it was not looked at.
    case live
    /// The intake has enough for one batch; the rest begins at an index.
    case enough(next: Int)
    /// The client tells an error in place of a message, and mostly the offset of that.
    case failed(KafkaError, at: Int64)
}
