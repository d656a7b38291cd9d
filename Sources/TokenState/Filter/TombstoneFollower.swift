import APNsProtocol
import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics

/// Reads push.tombstones from its beginning, all of it, and keeps a worker's ``DeadTokenSets`` current.
///
/// Runs on an event loop of its own, because it waits for the broker's answers. Its owner stops it.
package final class TombstoneFollower {
    /// Time between two looks for fetched records.
    private static let interval = TimeAmount.milliseconds(50)
    /// Most records of each partition in one turn: other work of the loop waits that long, and replaced tables stay in
    /// memory.
    private static let recordsAtOnce = 1_000
    private static let questionTimeoutMilliseconds: Int32 = 5_000
    private static let beginsAgain: Logger.Message = "push.tombstones is read from its beginning again"

    private let eventLoop: any EventLoop
    private let reader: any TopicReader
    private let topic: String
    private let partitions: Int
    private let filters: DeadTokenSets
    private let logger: Logger
    private var progress: FollowedTopic
    private var timer: RepeatingTimer?
    /// The scheduled next turn, when more records are there already.
    private var next: Scheduled<Void>?
    private var isKnownComplete = false
    private var unreadable = 0

    /// - Parameter partitions: the number of the topic's partitions.
    package init(
        eventLoop: any EventLoop,
        reader: any TopicReader,
        topic: String,
        partitions: Int,
        filters: DeadTokenSets,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.reader = reader
        self.topic = topic
        self.partitions = partitions
        self.filters = filters
        self.logger = logger
        // Several questions may fail before the known state is too old.
        progress = FollowedTopic(partitions: partitions, interval: filters.maxAge / 4)
    }

    package func start() {
        eventLoop.preconditionInEventLoop()
        timer = eventLoop.repeating(after: .zero, every: Self.interval) { [unowned self] in turn() }
    }

    package func stop() {
        eventLoop.preconditionInEventLoop()
        timer?.cancel()
        next?.cancel()
        filters.complete(asOf: nil)
        reader.close()
    }

    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    /// Asks for the extents if that is due, and takes fetched records. Repeats itself once started.
    func turn() {
        if progress.isQuestionDue(now: now) { ask() }
        var hasRead = false
        for partition in 0..<partitions {
            guard let batch = reader.read(place(partition), max: Self.recordsAtOnce) else { continue }
            mergeRecords(of: batch, partition)
            batch.release()
            hasRead = true
        }
        report()
        guard hasRead, next == nil else { return }
        next = eventLoop.assumeIsolated().scheduleTask(in: .socketTurn) { [weak self] in
            self?.next = nil
            self?.turn()
        }
    }

    private func place(_ partition: Int) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: Int32(partition))
    }

    /// Asks for the extents of the partitions, and begins where the answer tells.
    private func ask() {
        let askedAt = now
        let wasLost = progress.isLost
        do throws(KafkaError) {
            guard case .begin(let starts) = progress.answered(try extents(), askedAt: askedAt) else { return }
            if !wasLost { logger.warning(Self.beginsAgain, metadata: ["offsets": "\(starts)"]) }
            begin(at: starts)
        } catch {
            logger.warning("the ends of push.tombstones are not known", metadata: ["error": "\(error)"])
            progress.notAnswered(now: now, isGone: error.isUnknownTopicOrPartition)
        }
    }

    private func extents() throws(KafkaError) -> [FollowedTopic.Extent] {
        let places = (0..<partitions).map(place)
        return try reader.watermarks(of: places, timeoutMilliseconds: Self.questionTimeoutMilliseconds)
            .map { FollowedTopic.Extent(start: $0.low, end: $0.high) }
    }

    private func begin(at starts: [Int64]) {
        do throws(KafkaError) {
            for (partition, offset) in starts.enumerated() { try reader.begin(place(partition), at: offset) }
        } catch {
            logger.error("push.tombstones cannot be read; trying again", metadata: ["error": "\(error)"])
            progress.lost(now: now)
        }
    }

    private func mergeRecords(of batch: KafkaBatch, _ partition: Int) {
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if error.isPartitionEnd {
                    progress.advance(partition, to: message.offset)
                } else {
                    lose(partition, error)
                }
                continue
            }
            merge(message)
            progress.advance(partition, to: message.offset + 1)
        }
    }

    /// The reader cannot go on: retention deleted the next records, or the topic is another one.
    private func lose(_ partition: Int, _ error: KafkaError) {
        guard !progress.isLost else { return }
        logger.warning(Self.beginsAgain, metadata: ["partition": "\(partition)", "error": "\(error)"])
        // All partitions: nothing is known to be complete until then.
        progress.lost(now: now)
    }

    private func merge(_ message: KafkaMessageView) {
        if message.value.baseAddress == nil {
            guard let (bundleID, token) = TombstonePublisher.parse(key: message.key) else {
                unreadable += 1
                return
            }
            return filters.forget(bundleID: bundleID, token: token)
        }
        do {
            let record = try PushTombstone(serializedBytes: Array(message.value))
            let facts = TokenFacts(
                registeredAt: UInt32(clamping: record.registeredAt),
                tombstonedAt: UInt32(clamping: record.tombstonedAt),
                reason: .none,
                wasRevived: false
            )
            filters.merge(
                environment: record.environment,
                bundleID: record.bundleID,
                token: Array(record.token),
                facts
            )
        } catch {
            // A token that is unknown here is not looked up: a needless send at worst.
            if unreadable == 0 {
                logger.error(
                    "a record of push.tombstones cannot be read",
                    metadata: ["partition": "\(message.partition)", "offset": "\(message.offset)"]
                )
            }
            unreadable += 1
        }
    }

    private func report() {
        filters.complete(asOf: progress.completeAsOf)
        let isComplete = filters.isComplete(now: now)
        guard isComplete != isKnownComplete else { return }
        isKnownComplete = isComplete
        if isComplete {
            logger.info("the filter of dead tokens is complete", metadata: ["tombstones": "\(filters.count)"])
        } else {
            logger.warning("the filter of dead tokens is too old; Redis is asked for every token")
        }
    }
}
