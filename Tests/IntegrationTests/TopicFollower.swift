import Foundation
import KafkaClient
import PushSchemas

/// Reads whole topics from their beginning, headers included. Driven by the test that waits: ``poll()``.
final class TopicFollower {
    struct Message {
        var topic: String
        var partition: Int32
        var offset: Int64
        var key: [UInt8]
        var value: [UInt8]
        var headers: [String: String]
    }

    private(set) var messages: [Message] = []
    private let readers: [KafkaTopicReader]

    init(brokers: String, topics: [String]) throws {
        readers = try topics.map { topic in
            try KafkaTopicReader(
                properties: ["bootstrap.servers": brokers, "fetch.wait.max.ms": "50"],
                topic: topic,
                from: .beginning,
                timeoutMilliseconds: 30_000
            )
        }
    }

    /// Takes what is ready.
    func poll() {
        for reader in readers {
            while let batch = reader.read(max: 1000) { append(batch) }
        }
    }

    private func append(_ batch: KafkaBatch) {
        for index in 0..<batch.count {
            let message = batch[index]
            guard message.error == nil else { continue }
            var headers: [String: String] = [:]
            for name in Self.headerNames {
                if let value = message.header(name) { headers[name] = String(decoding: value, as: UTF8.self) }
            }
            messages.append(
                Message(
                    topic: message.topic,
                    partition: message.partition,
                    offset: message.offset,
                    key: Array(message.key),
                    value: Array(message.value),
                    headers: headers
                )
            )
        }
    }

    /// The outcomes among the messages, with their headers.
    func outcomes() throws -> [(outcome: PushOutcome, headers: [String: String])] {
        try messages.filter { $0.topic == "push.outcomes" }.map { message in
            (try PushOutcome(serializedBytes: message.value), message.headers)
        }
    }

    func close() {
        for reader in readers { reader.close() }
    }

    private static let headerNames = [
        "reason", "detail", "source-topic", "source-partition", "source-offset", "cut-from-bytes",
        "content-type", "traceparent", "tracestate", "environment", "token-indices",
    ]
}
