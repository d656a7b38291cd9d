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
    private static let interval = TimeAmount.milliseconds(100)
    /// Time between two questions for the ends of the partitions.
    private static let questions = Duration.seconds(2)
    private static let recordsAtOnce = 1_000

    private let eventLoop: any EventLoop
    private let records: WholeTopicReader
    private let logger: Logger
    private let onChange: (AppControls) -> Void
    private let onComplete: (MonotonicTime) -> Void
    /// As read since the last begin.
    private var controls = AppControls()
    private var told: AppControls?
    /// It is being read from its beginning again.
    private var isAnew = false
    private var timer: RepeatingTimer?

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
        onChange: @escaping (AppControls) -> Void,
        onComplete: @escaping (MonotonicTime) -> Void
    ) {
        self.eventLoop = eventLoop
        self.logger = logger
        self.onChange = onChange
        self.onComplete = onComplete
        records = WholeTopicReader(
            reader,
            topic: topic,
            partitions: partitions,
            interval: Self.questions,
            recordsAtOnce: Self.recordsAtOnce,
            clock: { MonotonicTime(eventLoop.now) }
        )
    }

    func start() {
        eventLoop.preconditionInEventLoop()
        timer = eventLoop.repeating(after: .zero, every: Self.interval) { [unowned self] in turn() }
    }

    func stop() {
        eventLoop.preconditionInEventLoop()
        timer?.cancel()
        records.close()
    }

    /// Takes all that was fetched, and tells of what is new.
    func turn() {
        while records.look(onEvent: note, onRecord: apply) {}
        tell()
    }

    private func note(_ event: WholeTopicReader.Event) {
        switch event {
        case .begins(_, let isAgain):
            if isAgain { logger.warning("push.controls is read from its beginning again") }
            // The levers that were told hold until it was read to its end.
            controls = AppControls()
            isAnew = told != nil
        case .endsUnknown(let error), .cannotBegin(let error):
            logger.warning("push.controls cannot be read; the levers stay as they are", metadata: ["error": "\(error)"])
        case .lost(_, let error):
            logger.warning("push.controls cannot be read", metadata: ["error": "\(error)"])
        }
    }

    private func apply(_ message: KafkaMessageView) {
        do throws(ControlRecord.Fault) {
            try ControlRecord.apply(key: message.key, value: message.value, to: &controls)
        } catch {
            logger.error(
                "a record of push.controls makes no sense; it sets nothing",
                metadata: ["partition": "\(message.partition)", "offset": "\(message.offset)", "reason": "\(error)"]
            )
        }
    }

    private func tell() {
        guard let complete = records.completeAsOf else { return }
        onComplete(complete)
        let wasAnew = isAnew
        isAnew = false
        guard controls != told else { return }
        if wasAnew { logger.critical("push.controls is another topic now; levers that it does not have are off") }
        told = controls
        onChange(controls)
    }
}
