import APNsProtocol
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas

/// Reads push.tombstones from its beginning, all of it, and keeps a worker's ``TombstoneFilters`` current.
///
/// Runs on an event loop of its own, for it waits for the broker's answers. Its owner stops it.
final class TombstoneFollower {
    /// How often it looks for what was fetched.
    private static let interval = TimeAmount.milliseconds(20)
    private static let recordsAtOnce = 10_000
    private static let questionTimeoutMilliseconds: Int32 = 5_000

    private let eventLoop: any EventLoop
    private let reader: KafkaReader
    private let topic: String
    private let partitions: Int
    private let filters: TombstoneFilters
    private let logger: Logger
    /// Nil until the partitions' beginnings are known.
    private var progress: FollowedTopic?
    private var nextQuestion = MonotonicTime(nanoseconds: 0)
    private var timer: RepeatedTask?
    private var isKnownComplete = false
    private var unreadable = 0

    /// - Parameter partitions: how many the topic has.
    init(
        eventLoop: any EventLoop,
        reader: KafkaReader,
        topic: String,
        partitions: Int,
        filters: TombstoneFilters,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.reader = reader
        self.topic = topic
        self.partitions = partitions
        self.filters = filters
        self.logger = logger
    }

    func start() {
        eventLoop.preconditionInEventLoop()
        timer = eventLoop.repeating(after: .zero, every: Self.interval) { [unowned self] in turn() }
    }

    func stop() {
        eventLoop.preconditionInEventLoop()
        timer?.cancel()
        filters.complete(asOf: nil)
        reader.close()
    }

    private var now: MonotonicTime { MonotonicTime(nanoseconds: eventLoop.now.uptimeNanoseconds) }

    private func turn() {
        if progress == nil { begin() }
        for partition in 0..<partitions where progress != nil {
            while let batch = reader.read(place(partition), max: Self.recordsAtOnce) {
                take(batch, partition)
                batch.release()
            }
        }
        askForEnds()
        report()
    }

    private func place(_ partition: Int) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: Int32(partition))
    }

    /// Begins all partitions where the topic begins now.
    private func begin() {
        guard nextQuestion <= now, let marks = watermarks() else { return }
        nextQuestion = now
        do throws(KafkaError) {
            for (partition, mark) in marks.enumerated() { try reader.begin(place(partition), at: mark.low) }
            progress = FollowedTopic(starts: marks.map(\.low))
        } catch {
            logger.error("push.tombstones cannot be read; trying again", metadata: ["error": "\(error)"])
        }
    }

    /// Asks now and then where the partitions end: what is read to there is complete as of the question.
    private func askForEnds() {
        let now = now
        guard progress != nil, nextQuestion <= now, let marks = watermarks() else { return }
        progress?.asked(at: now, ends: marks.map(\.high))
    }

    /// What every partition holds; nil if the broker does not say so now.
    private func watermarks() -> [KafkaWatermarks]? {
        nextQuestion = now + filters.maxAge / 4
        var marks: [KafkaWatermarks] = []
        for partition in 0..<partitions {
            do throws(KafkaError) {
                let timeout = Self.questionTimeoutMilliseconds
                marks.append(try reader.watermarks(of: place(partition), timeoutMilliseconds: timeout))
            } catch {
                logger.warning("the ends of push.tombstones are not known", metadata: ["error": "\(error)"])
                return nil
            }
        }
        return marks
    }

    private func take(_ batch: KafkaBatch, _ partition: Int) {
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if error.isPartitionEnd {
                    progress?.advance(partition, to: message.offset)
                } else {
                    restart(partition, error)
                }
                continue
            }
            merge(message)
            progress?.advance(partition, to: message.offset + 1)
        }
    }

    /// The reader cannot go on where it is: compaction or retention took what it was about to read.
    private func restart(_ partition: Int, _ error: KafkaError) {
        logger.warning(
            "push.tombstones is read from its beginning again",
            metadata: ["partition": "\(partition)", "error": "\(error)"]
        )
        // All of it: nothing is known to be complete until then.
        progress = nil
        nextQuestion = now + .seconds(1)
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
            // A token that is not known here is asked of nobody: a needless send at worst.
            if unreadable == 0 {
                logger.error("a record of push.tombstones cannot be read", metadata: ["offset": "\(message.offset)"])
            }
            unreadable += 1
        }
    }

    private func report() {
        filters.complete(asOf: progress?.completeAsOf)
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
