import KafkaClient
import PushSchemas
import RequestLanes

/// The place of a request before a worker moved it into the normal lane, because it was over the quota of its app.
///
/// It stands in a header of the moved record, and of its outcomes: `<Kafka topic>/<partition>@<offset>`.
package struct MovedOrigin: Equatable, Sendable {
    package static let headerName = "belfry-moved-from"

    package let topic: String
    package let partition: Int32
    package let offset: Int64

    /// - Parameter topic: the Kafka topic of `message`.
    package init(movingFrom topic: String, _ message: KafkaMessageView) {
        self.topic = topic
        partition = message.partition
        offset = message.offset
    }

    /// Reads the header of a record. Nil: it has none, or one that names no place in this Kafka topic.
    package init?(of message: KafkaMessageView, from topic: String) {
        guard let header = message.header(Self.headerName) else { return nil }
        let parts = String(decoding: header, as: UTF8.self).dropFirst(topic.count + 1).split(separator: "@")
        guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]) else { return nil }
        self.topic = topic
        self.partition = partition
        self.offset = offset
        // Each place has one spelling.
        guard partition >= 0, offset >= 0, header.elementsEqual(text.utf8) else { return nil }
    }

    private var text: String { "\(topic)/\(partition)@\(offset)" }

    package var header: (String, [UInt8]) { (Self.headerName, Array(text.utf8)) }

    /// Tells the request's publisher.
    package var warning: String { "moved from the lane urgent: over the quota (\(text))" }

    /// Publishes the record from this place to another lane's Kafka topic. Of its headers it keeps those that workers
    /// read: with all of them and one more it might be refused.
    package func publish(
        _ message: KafkaMessageView,
        to lane: String,
        through producer: any MessageProducer,
        opaque: UInt64
    ) throws(KafkaError) {
        var headers = message.traceHeaders
        if let type = message.contentTypeHeader {
            headers.append((RecordContentType.headerName, Array(type.prefix(DeadLetter.contentTypeBytes))))
        }
        headers.append(header)
        try producer.produce(
            topic: lane,
            partition: nil,
            key: message.key,
            value: message.value,
            headers: headers,
            opaque: opaque
        )
    }
}

extension PushOutcome {
    /// The outcome under the place that its publisher knows: the request may have been moved since.
    ///
    /// - Parameter message: the outcome's record.
    package func atOrigin(_ message: KafkaMessageView, _ names: TopicNames) -> PushOutcome {
        guard let origin = MovedOrigin(of: message, from: names.requests(.urgent)) else { return self }
        var outcome = self
        outcome.sourceTopic = origin.topic
        outcome.sourcePartition = origin.partition
        outcome.sourceOffset = origin.offset
        return outcome
    }
}
