import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics

/// Reads push.controls from its beginning, all of it, and tells of the levers in it: first when it was read to its end,
/// then with each change.
///
/// Runs on an event loop of its own, because it waits for the broker's answers. Its owner stops it.
final class ControlsFollower {
    /// Time between two looks for fetched records.
    static let interval = TimeAmount.milliseconds(50)
    /// Time between two questions for the ends of the partitions.
    static let questions = Duration.seconds(2)
    private static let recordsAtOnce = 1_000
    private static let questionTimeoutMilliseconds: Int32 = 5_000

    private let eventLoop: any EventLoop
    private let reader: any TopicReader
    private let topic: String
    private let partitions: Int
    private let logger: Logger
    private let onChange: (TopicControls) -> Void
    private let onComplete: (MonotonicTime) -> Void
    private var progress: FollowedTopic
    /// As read since the last begin.
    private var controls = TopicControls()
    private var told: TopicControls?
    /// It is being read from its beginning again.
    private var isAnew = false
    private var timer: RepeatingTimer?
    /// Records without a meaning for this program, since the start.
    private var unreadable = 0

    /// - Parameters:
    ///   - partitions: the number of the topic's partitions.
    ///   - onChange: called on the event loop with all levers, first when the topic was read to its end.
    ///   - onComplete: called on the event loop with the time as of which it was read to its end.
    init(
        eventLoop: any EventLoop,
        reader: any TopicReader,
        topic: String,
        partitions: Int,
        logger: Logger,
        onChange: @escaping (TopicControls) -> Void,
        onComplete: @escaping (MonotonicTime) -> Void
    ) {
        self.eventLoop = eventLoop
        self.reader = reader
        self.topic = topic
        self.partitions = partitions
        self.logger = logger
        self.onChange = onChange
        self.onComplete = onComplete
        progress = FollowedTopic(partitions: partitions, interval: Self.questions)
    }

    func start() {
        eventLoop.preconditionInEventLoop()
        timer = eventLoop.repeating(after: .zero, every: Self.interval) { [unowned self] in turn() }
    }

    func stop() {
        eventLoop.preconditionInEventLoop()
        timer?.cancel()
        reader.close()
    }

    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    /// Asks for the extents if that is due, and takes fetched records. Repeats itself once started.
    func turn() {
        if progress.isQuestionDue(now: now) { ask() }
        for partition in 0..<partitions {
            while let batch = reader.read(place(partition), max: Self.recordsAtOnce) {
                take(batch, partition)
                batch.release()
            }
        }
        tell()
    }

    private func place(_ partition: Int) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: Int32(partition))
    }

    private func ask() {
        let askedAt = now
        let wasLost = progress.isLost
        do throws(KafkaError) {
            let extents = try reader.watermarks(
                of: (0..<partitions).map(place),
                timeoutMilliseconds: Self.questionTimeoutMilliseconds
            )
            let answer = progress.answered(
                extents.map { FollowedTopic.Extent(start: $0.low, end: $0.high) },
                askedAt: askedAt
            )
            guard case .begin(let starts) = answer else { return }
            if !wasLost { logger.warning("push.controls is read from its beginning again") }
            begin(at: starts)
        } catch {
            logger.warning("push.controls cannot be read; the levers stay as they are", metadata: ["error": "\(error)"])
            progress.notAnswered(now: now, isGone: error.isUnknownTopicOrPartition)
        }
    }

    private func begin(at starts: [Int64]) {
        // The levers that were told hold until it was read to its end.
        controls = TopicControls()
        isAnew = told != nil
        do throws(KafkaError) {
            for (partition, offset) in starts.enumerated() { try reader.begin(place(partition), at: offset) }
        } catch {
            logger.warning("push.controls cannot be read; the levers stay as they are", metadata: ["error": "\(error)"])
            progress.lost(now: now)
        }
    }

    private func take(_ batch: KafkaBatch, _ partition: Int) {
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if error.isPartitionEnd {
                    progress.advance(partition, to: message.offset)
                } else if !progress.isLost {
                    logger.warning("push.controls cannot be read", metadata: ["error": "\(error)"])
                    progress.lost(now: now)
                }
                continue
            }
            apply(message)
            progress.advance(partition, to: message.offset + 1)
        }
    }

    private func apply(_ message: KafkaMessageView) {
        do throws(ControlRecord.Fault) {
            try ControlRecord.apply(key: message.key, value: message.value, to: &controls)
        } catch {
            unreadable += 1
            logger.error(
                "a record of push.controls makes no sense; it sets nothing",
                metadata: ["partition": "\(message.partition)", "offset": "\(message.offset)", "reason": "\(error)"]
            )
        }
    }

    private func tell() {
        guard let complete = progress.completeAsOf else { return }
        onComplete(complete)
        let wasAnew = isAnew
        isAnew = false
        guard controls != told else { return }
        if wasAnew { logger.critical("push.controls is another topic now; levers that it does not have are off") }
        told = controls
        onChange(controls)
    }
}
