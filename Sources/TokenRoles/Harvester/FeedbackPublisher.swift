import APNsProtocol
import Foundation
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics

/// Publishes tuples to push.feedback, each for as long as it takes. Runs on `eventLoop`.
final class FeedbackPublisher {
    private let eventLoop: any EventLoop
    private let producer: any MessageProducer
    private let logger: Logger
    private let topic: String
    private var pending: [UInt64: Pending] = [:]
    private var nextNumber: UInt64 = 0
    private var line = PublicationLine()
    private var isRetryDue = false
    /// A line of the log has told of a refusal since the last retry.
    private var hasTold = false
    private var isClosed = false

    /// Tuples that were to be published again since the start.
    private(set) var retries = 0

    /// From one look for tuples that may go again to the next.
    private static let retryDelay = TimeAmount.seconds(1)

    private struct Pending {
        var key: [UInt8]
        var value: [UInt8]
        var acknowledged: () -> Void
    }

    /// - Parameter topic: the Kafka topic push.feedback.
    init(eventLoop: any EventLoop, producer: any MessageProducer, topic: String, logger: Logger) {
        self.eventLoop = eventLoop
        self.producer = producer
        self.topic = topic
        self.logger = logger
    }

    /// - Parameters:
    ///   - harvestedAt: UNIX seconds.
    ///   - acknowledged: called once for each tuple, later.
    func publish(
        _ tuples: [FeedbackTuple],
        of source: FeedbackConnection.Source,
        harvestedAt: Int64,
        acknowledged: @escaping () -> Void
    ) {
        let key = Array(source.bundleID.utf8)
        var message = PushFeedbackTuple()
        message.environment = source.environment
        message.harvestedAt = harvestedAt
        for tuple in tuples {
            message.timestamp = tuple.timestamp
            message.token = Data(tuple.token)
            let value: [UInt8]
            do {
                value = try message.serializedBytes()
            } catch {
                preconditionFailure("a tuple has no required field, and its texts are Unicode: \(error)")
            }
            pending[nextNumber] = Pending(key: key, value: value, acknowledged: acknowledged)
            line.add(nextNumber)
            nextNumber += 1
        }
        handOver()
    }

    private func handOver() {
        while let number = line.takeNext(now: MonotonicTime(eventLoop.now)) { hand(over: number) }
    }

    private func hand(over number: UInt64) {
        guard let message = pending[number] else { return }
        do throws(KafkaError) {
            try producer.produce(
                topic: topic,
                partition: nil,
                key: message.key,
                value: message.value,
                headers: [],
                opaque: number
            )
        } catch {
            refuse(number, error)
        }
    }

    /// The broker's word on a tuple.
    func delivered(_ number: UInt64, error: KafkaError?) {
        line.roomCame()
        if let error {
            refuse(number, error)
        } else {
            line.acknowledged()
            pending.removeValue(forKey: number)?.acknowledged()
        }
        handOver()
    }

    /// Gives up what is not acknowledged. Callers that wait for it are not told.
    func close() {
        isClosed = true
        pending = [:]
    }

    private func refuse(_ number: UInt64, _ error: KafkaError) {
        guard !isClosed else { return }
        retries += 1
        line.refused(number, error.refusal, now: MonotonicTime(eventLoop.now))
        if !hasTold {
            hasTold = true
            logger.error("feedback tuples were not published; trying again", metadata: ["error": "\(error)"])
        }
        retryLater()
    }

    private func retryLater() {
        guard !isRetryDue else { return }
        isRetryDue = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.retryDelay) { [weak self] in self?.retry() }
    }

    private func retry() {
        isRetryDue = false
        hasTold = false
        guard !isClosed, line.count > 0 else { return }
        line.roomCame()
        handOver()
        if line.count > 0 { retryLater() }
    }
}
