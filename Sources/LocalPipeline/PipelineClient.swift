import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import RequestLanes
import SwiftProtobuf
import Workbench

/// A service that publishes to a pipeline and follows its outcomes, with books of both. Driven from one thread.
///
/// The producer is held back by what has no outcome yet: the embedded broker keeps little and drops silently.
public final class PipelineClient {
    /// A request with its place at the broker.
    public struct Place: Sendable {
        public var key: String
        public var notifications: Int
        public var lane = RequestLane.normal
        /// −1 until the broker has acknowledged it; so is the offset.
        public var partition: Int32 = -1
        public var offset: Int64 = -1
    }

    public private(set) var books = Books()
    /// Of every record published, in that order.
    public private(set) var places: [Place] = []

    private let producer: KafkaProducer
    /// No group: the embedded broker lets the first member of one wait for 3 s.
    private let outcomes: KafkaTopicReader
    private let names: TopicNames
    private var unacknowledged = 0
    private var failure: KafkaError?

    /// Notifications without an outcome beyond which the producer waits.
    private static let lagLimit = 20_000

    /// Follows the outcomes of what is published from now on. Waits for the broker, at most a minute.
    ///
    /// - Parameters:
    ///   - prefix: the installation's `kafka.prefix`.
    ///   - tell: takes a warning, or worse, of the Kafka clients.
    public init(brokers: String, prefix: String = "", tell: @escaping (_ text: String) -> Void = { _ in }) throws {
        names = TopicNames(prefix: prefix)
        let onLog = { (line: KafkaLogLine) in
            if let text = line.warningText { tell(text) }
        }
        var common = KafkaProperties()
        common["bootstrap.servers"] = brokers
        var produce = common
        produce["partitioner"] = "murmur2_random"
        produce["message.max.bytes"] = "8388608"
        produce["linger.ms"] = "5"
        producer = try KafkaProducer(properties: produce)
        var consume = common
        consume["auto.offset.reset"] = "latest"
        consume["fetch.wait.max.ms"] = "50"
        do throws(KafkaError) {
            outcomes = try KafkaTopicReader(
                properties: consume,
                topic: names.outcomes,
                from: .end,
                timeoutMilliseconds: 30_000,
                onLog: onLog
            )
        } catch {
            producer.close()
            throw error
        }
        producer.onLog = onLog
        producer.onDelivery = { [unowned self] number, error, partition, offset in
            unacknowledged -= 1
            if number > 0 {
                places[Int(number) - 1].partition = partition
                places[Int(number) - 1].offset = offset
            }
            if let error, failure == nil { failure = error }
        }
    }

    /// Publishes records into a lane, waiting whenever too many notifications have no outcome yet.
    ///
    /// - Parameter partition: nil: the one to which each record's key leads.
    public func publish(
        _ records: [PlannedRecord],
        into lane: RequestLane = .normal,
        to partition: Int32? = nil
    ) throws {
        for record in records {
            try wait(for: "outcomes", within: 60) { books.missing < Self.lagLimit && unacknowledged < 1000 }
            var headers = record.headers
            if record.isJSON { headers.append((RecordContentType.headerName, Array("application/json".utf8))) }
            places.append(Place(key: record.key, notifications: record.notifications, lane: lane))
            try produce(
                topic: names.requests(lane),
                partition: partition,
                key: Array(record.key.utf8),
                value: record.value,
                headers: headers,
                opaque: UInt64(places.count)
            )
            books.publish(notifications: record.notifications)
        }
        try flush()
    }

    /// Publishes registrations to push.registrations.
    ///
    /// - Parameter locale: tells each device's.
    public func register(
        _ tokens: [[UInt8]],
        bundleID: String,
        at seconds: Int64,
        locale: (_ token: [UInt8]) -> String = { _ in "en" }
    ) throws {
        for token in tokens {
            var registration = PushRegistration()
            registration.token = .with { $0.raw = Data(token) }
            registration.registeredAt = seconds
            registration.locale = locale(token)
            try wait(for: "acknowledgements", within: 30) { unacknowledged < 1000 }
            let key = try token.withUnsafeBytes {
                try RecordKey(bundleID: bundleID, shard: RecordKey.shard(of: $0, spread: RequestPlan.spread))
            }
            try produce(
                topic: names.registrations,
                key: Array(key.description.utf8),
                value: try registration.serializedBytes(),
                headers: []
            )
        }
        try flush()
    }

    /// Publishes one record to another topic than those of requests.
    public func publish(topic: String, key: String, value: [UInt8]) throws {
        try produce(topic: topic, key: Array(key.utf8), value: value, headers: [])
        try flush()
    }

    /// Waits until every notification published has an outcome.
    public func waitForOutcomes() throws {
        try wait(for: "the last outcomes", within: 60) { books.missing <= 0 }
    }

    /// Keeps acknowledgements and outcomes moving until a condition holds.
    public func wait(for what: String, within seconds: Double, _ condition: () -> Bool) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while !condition() {
            if let failure { throw failure }
            guard Date() < deadline else {
                throw ChildProcess.Failure(
                    description: "waited \(Int(seconds)) s for \(what): \(books.missing) of \(books.published) "
                        + "notifications have no outcome"
                )
            }
            pump(timeoutMilliseconds: 2)
        }
    }

    /// Takes what is ready of acknowledgements and outcomes.
    ///
    /// - Parameter timeoutMilliseconds: the longest wait for an outcome, for a caller that waits for something else.
    public func pump(timeoutMilliseconds: Int32 = 0) {
        producer.poll()
        takeOutcomes(timeoutMilliseconds: timeoutMilliseconds)
    }

    public func close() {
        outcomes.close()
        producer.close()
    }

    private func flush() throws {
        try wait(for: "acknowledgements", within: 30) { unacknowledged == 0 }
    }

    private func produce(
        topic: String,
        partition: Int32? = nil,
        key: [UInt8],
        value: [UInt8],
        headers: [(String, [UInt8])],
        opaque: UInt64 = 0
    ) throws {
        try producer.produce(
            topic: topic,
            partition: partition,
            key: key,
            value: value,
            headers: headers,
            opaque: opaque
        )
        unacknowledged += 1
    }

    /// Enters what is ready into the books.
    private func takeOutcomes(timeoutMilliseconds: Int32) {
        guard let batch = outcomes.read(max: 1000, timeoutMilliseconds: timeoutMilliseconds) else { return }
        for index in 0..<batch.count {
            let message = batch[index]
            guard message.error == nil else { continue }
            guard
                let outcome = try? RequestDecoding.decode(PushOutcome.self, from: message.value, as: .protobuf)
                    .atOrigin(message, names)
            else { continue }
            books.noteOutcome(outcome, in: names.lane(of: outcome.sourceTopic) ?? .normal)
        }
    }
}
