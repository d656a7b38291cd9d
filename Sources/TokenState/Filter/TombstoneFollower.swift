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
    private static let interval = TimeAmount.milliseconds(100)
    /// Most records of each partition in one turn: other work of the loop waits that long, and replaced tables stay in
    /// memory.
    private static let recordsAtOnce = 1_000
    private static let beginsAgain: Logger.Message = "push.tombstones is read from its beginning again"

    private let eventLoop: any EventLoop
    private let filters: DeadTokenSets
    private let logger: Logger
    private let records: WholeTopicReader
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
        self.filters = filters
        self.logger = logger
        records = WholeTopicReader(
            reader,
            topic: topic,
            partitions: partitions,
            // Several questions may fail before the known state is too old.
            interval: filters.maxAge / 4,
            recordsAtOnce: Self.recordsAtOnce,
            clock: { MonotonicTime(eventLoop.now) }
        )
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
        records.close()
    }

    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    /// Asks for the extents if that is due, and takes fetched records. Repeats itself once started.
    func turn() {
        let hasRead = records.look(onEvent: tell, onRecord: merge)
        report()
        guard hasRead, next == nil else { return }
        next = eventLoop.assumeIsolated().scheduleTask(in: .socketTurn) { [weak self] in
            self?.next = nil
            self?.turn()
        }
    }

    private func tell(_ event: WholeTopicReader.Event) {
        switch event {
        case .begins(let starts, let isAgain):
            if isAgain { logger.warning(Self.beginsAgain, metadata: ["offsets": "\(starts)"]) }
        case .endsUnknown(let error):
            logger.warning("the ends of push.tombstones are not known", metadata: ["error": "\(error)"])
        case .cannotBegin(let error):
            logger.error("push.tombstones cannot be read; trying again", metadata: ["error": "\(error)"])
        case .lost(let partition, let error):
            logger.warning(Self.beginsAgain, metadata: ["partition": "\(partition)", "error": "\(error)"])
        }
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
                wasRevived: false,
                refused: record.refused.compactMap { RefusedKind($0) }
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
        filters.complete(asOf: records.completeAsOf)
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
