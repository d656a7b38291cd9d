import BelfryProducer
import BelfrySupport
import PushTopics

/// The result of publishing.
public struct PublishReport: Equatable, Sendable {
    /// The Kafka topic.
    public let topic: String
    public let records: Int
    public let tokens: Int
    /// The requests' id; nil for registrations.
    public let requestID: String?
    /// The one token stands for a channel.
    public var isBroadcast = false
    /// Of the tokens, those that earlier runs published; the records are without theirs.
    public var earlierTokens = 0

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("topic", topic)
        line.append("records", records)
        line.append("tokens", tokens)
        if let requestID { line.append("request_id", requestID) }
        if earlierTokens > 0 { line.append("earlier_tokens", earlierTokens) }
        return line.text
    }

    /// A sentence.
    public var text: String {
        let id = requestID.map { ", request id \($0)" } ?? ""
        let content = isBroadcast ? "a broadcast" : counted(tokens - earlierTokens, "token")
        let earlier = earlierTokens > 0 ? " behind \(counted(earlierTokens, "token")) of an earlier run" : ""
        return "published \(content) in \(counted(records, "record")) to \(topic)\(id)\(earlier)"
    }
}

/// Carries out `belfry publish` and `belfry register`: checks the order, publishes, waits for the acknowledgements.
///
/// Blocks the calling thread.
public enum Publisher {
    /// Publishes into the order's lane at once, and waits for nothing but the acknowledgements.
    public static func publish(_ order: PublishOrder, through settings: KafkaSettings) throws -> PublishReport {
        try OrderPublication(order).run(through: settings).report
    }

    /// Publishes to push.registrations.
    public static func register(_ order: RegistrationOrder, through settings: KafkaSettings) throws -> PublishReport {
        let names = TopicNames(settings)
        let (template, tokens) = try order.checked()
        let records = try deliver(to: names.registrations, through: settings) { send in
            try RegistrationBatcher(template).forEachRecord(of: tokens, send)
        }
        return PublishReport(topic: names.registrations, records: records, tokens: tokens.count, requestID: nil)
    }

    private static func deliver(
        to topic: String,
        through settings: KafkaSettings,
        _ produce: ((OutgoingRecord) throws -> Void) throws -> Void
    ) throws -> Int {
        let producer = try RecordProducer(settings, topic: topic)
        var records = 0
        do {
            try produce { record in
                try producer.send(record, to: topic)
                records += 1
            }
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        return records
    }
}
