import KafkaClient
import PipelineCore

/// Reads a topic from its beginning, all of it, and goes on with what is appended; ``FollowedTopic`` decides where it
/// begins and as of when it is complete.
///
/// Its owner lets it look, again and again, on one thread that may block: it waits for the broker's answers.
package final class WholeTopicReader {
    /// An event for the owner.
    package enum Event {
        /// Reading begins. `isAgain`: it had a place in the topic, which no longer fits.
        case begins(at: [Int64], isAgain: Bool)
        /// The ends of the topic are not known; it stays as complete as it was.
        case endsUnknown(KafkaError)
        /// It cannot begin where it should, and tries again.
        case cannotBegin(KafkaError)
        /// It cannot go on in a partition, and begins again in all of them.
        case lost(partition: Int, KafkaError)
    }

    private static let questionTimeoutMilliseconds: Int32 = 5_000

    private let reader: any TopicReader
    private let topic: String
    private let partitions: Int
    private let recordsAtOnce: Int
    private let clock: () -> MonotonicTime
    private var progress: FollowedTopic

    /// - Parameters:
    ///   - partitions: the number of the topic's partitions.
    ///   - interval: time from one question for the topic's ends to the next.
    ///   - recordsAtOnce: most records of each partition in one look.
    package init(
        _ reader: any TopicReader,
        topic: String,
        partitions: Int,
        interval: Duration,
        recordsAtOnce: Int,
        clock: @escaping () -> MonotonicTime
    ) {
        self.reader = reader
        self.topic = topic
        self.partitions = partitions
        self.recordsAtOnce = recordsAtOnce
        self.clock = clock
        progress = FollowedTopic(partitions: partitions, interval: interval)
    }

    /// Everything published before this time has been read; nil: not so, or not known.
    package var completeAsOf: MonotonicTime? { progress.completeAsOf }

    package func close() { reader.close() }

    /// Asks for the extents of the partitions if that is due, and takes fetched records.
    ///
    /// - Parameters:
    ///   - onEvent: called before the event has its consequences here.
    ///   - onRecord: called for each record, in the order of its partition.
    /// - Returns: something was fetched; there may be more.
    package func look(onEvent: (Event) -> Void, onRecord: (KafkaMessageView) -> Void) -> Bool {
        if progress.isQuestionDue(now: clock()) { ask(onEvent) }
        var hasRead = false
        for partition in 0..<partitions {
            guard let batch = reader.read(place(partition), max: recordsAtOnce) else { continue }
            take(batch, partition, onEvent, onRecord)
            batch.release()
            hasRead = true
        }
        return hasRead
    }

    private func ask(_ onEvent: (Event) -> Void) {
        let askedAt = clock()
        let wasLost = progress.isLost
        do throws(KafkaError) {
            guard case .begin(let starts) = progress.answered(try extents(), askedAt: askedAt) else { return }
            onEvent(.begins(at: starts, isAgain: !wasLost))
            begin(at: starts, onEvent)
        } catch {
            onEvent(.endsUnknown(error))
            progress.notAnswered(now: clock(), isGone: error.isUnknownTopicOrPartition)
        }
    }

    private func place(_ partition: Int) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: Int32(partition))
    }

    private func extents() throws(KafkaError) -> [FollowedTopic.Extent] {
        let places = (0..<partitions).map(place)
        return try reader.watermarks(of: places, timeoutMilliseconds: Self.questionTimeoutMilliseconds)
            .map { FollowedTopic.Extent(start: $0.low, end: $0.high) }
    }

    private func begin(at starts: [Int64], _ onEvent: (Event) -> Void) {
        do throws(KafkaError) {
            for (partition, offset) in starts.enumerated() { try reader.begin(place(partition), at: offset) }
        } catch {
            onEvent(.cannotBegin(error))
            progress.lost(now: clock())
        }
    }

    private func take(
        _ batch: KafkaBatch,
        _ partition: Int,
        _ onEvent: (Event) -> Void,
        _ onRecord: (KafkaMessageView) -> Void
    ) {
        for index in 0..<batch.count {
            let message = batch[index]
            if let error = message.error {
                if error.isPartitionEnd {
                    progress.advance(partition, to: message.offset)
                } else {
                    lose(partition, error, onEvent)
                }
                continue
            }
            onRecord(message)
            progress.advance(partition, to: message.offset + 1)
        }
    }

    /// Retention deleted the next records, or the topic is another one. Nothing is known to be complete until all
    /// partitions were read again.
    private func lose(_ partition: Int, _ error: KafkaError, _ onEvent: (Event) -> Void) {
        guard !progress.isLost else { return }
        onEvent(.lost(partition: partition, error))
        progress.lost(now: clock())
    }
}
