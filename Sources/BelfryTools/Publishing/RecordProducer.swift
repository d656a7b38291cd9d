import BelfryProducer
import BelfrySupport
import KafkaClient
import PushTopics

/// Publishes records and waits until Kafka has acknowledged them all. Blocks its thread: for commands, not for roles.
final class RecordProducer {
    /// Longest wait of a command for brokers that do not answer.
    static let timeoutMilliseconds: Int32 = 30_000

    private static let queueProperty = "queue.buffering.max.kbytes"

    private let producer: KafkaProducer
    private let brokers: String
    private let tally = DeliveryTally()

    /// Throws `ToolError.kafka` if the brokers cannot be reached or have no such topic.
    convenience init(
        _ settings: KafkaSettings,
        topic: String,
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(ToolError) {
        try self.init(settings, topics: [topic], tell: tell)
    }

    /// The same for several topics. Some brokers make a missing one when something is sent to it, and no role that runs
    /// would read it.
    ///
    /// - Parameter tell: takes a line for standard error.
    init(
        _ settings: KafkaSettings,
        topics: [String],
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(ToolError) {
        brokers = settings.brokers
        try Self.checkReachable(settings, topics: topics, tell)
        var properties = settings.producerProperties(clientID: "belfry-publish")
        // A role tries for as long as it takes; a command tells that it failed.
        properties["message.timeout.ms"] = "\(Self.timeoutMilliseconds)"
        // Enough to keep the brokers busy, and no more: there may be any number of records.
        let isSizeSet = settings.properties.contains { $0.name == Self.queueProperty }
        if !isSizeSet { properties[Self.queueProperty] = "32768" }
        let tally = tally
        do throws(KafkaError) {
            producer = try KafkaProducer(properties: properties)
        } catch {
            throw ToolError(error)
        }
        producer.onDelivery = { tally.count($0, $1, $2, $3) }
        producer.onLog = { KafkaWords.tell($0, tell: tell) }
    }

    /// Called with the number of each record that Kafka has acknowledged, and its place; −1: that is not known.
    var onAcknowledged: ((_ number: UInt64, _ partition: Int32, _ offset: Int64) -> Void)? {
        get { tally.onAcknowledged }
        set { tally.onAcknowledged = newValue }
    }

    /// The first record that Kafka did not take, and why; nil: none so far.
    var failure: ToolError? {
        tally.reason.map { .notDelivered(failed: tally.failed, of: tally.sent, reason: $0) }
    }

    /// Takes acknowledgements for a while; at least those that are there.
    func poll(for time: Duration) {
        let end = ContinuousClock.now + time
        repeat {
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            producer.poll(timeoutMilliseconds: Int32(min(1000, max(0, left.rounded(.up)))))
        } while ContinuousClock.now < end
    }

    /// Hands one record over; waits while the producer's queue is full.
    func send(_ record: OutgoingRecord, to topic: String, number: UInt64 = 0) throws(ToolError) {
        try produce { () throws(KafkaError) in
            try producer.produce(record, to: topic, opaque: number)
        }
    }

    /// Hands bytes over as they are; waits while the producer's queue is full.
    func send(
        key: [UInt8],
        value: [UInt8],
        headers: [(name: String, value: [UInt8])],
        to topic: String
    ) throws(ToolError) {
        try produce { () throws(KafkaError) in
            let headers = headers.map { ($0.name, $0.value) }
            try producer.produce(topic: topic, key: key, value: value, headers: headers, opaque: 0)
        }
    }

    /// Waits for the acknowledgement of everything sent so far. Throws `ToolError.notDelivered`.
    func settle() throws(ToolError) {
        WaitNotice.during("the brokers at \(brokers) to acknowledge records") {
            _ = try? producer.flush(timeoutMilliseconds: Self.timeoutMilliseconds + 1000)
        }
        guard tally.acknowledged == tally.sent else {
            throw .notDelivered(
                failed: tally.sent - tally.acknowledged,
                of: tally.sent,
                reason: tally.reason ?? "no answer from the brokers"
            )
        }
    }

    /// Hands a record over that says that there is nothing under this key any more.
    func sendRemoval(key: [UInt8], to topic: String) throws(ToolError) {
        try produce { () throws(KafkaError) in
            try producer.produce(topic: topic, key: key, value: nil, headers: [], opaque: 0)
        }
    }

    private func produce(_ produce: () throws(KafkaError) -> Void) throws(ToolError) {
        tally.sent += 1
        if try hasRoom(for: produce) { return }
        // Most often the next acknowledgement makes room.
        producer.poll(timeoutMilliseconds: 100)
        if try hasRoom(for: produce) { return }
        try WaitNotice.during("the brokers at \(brokers) to take records") { () throws(ToolError) in
            while try !hasRoom(for: produce) { producer.poll(timeoutMilliseconds: 100) }
        }
    }

    private func hasRoom(for produce: () throws(KafkaError) -> Void) throws(ToolError) -> Bool {
        do throws(KafkaError) {
            try produce()
            producer.poll()
            return true
        } catch {
            guard error.isQueueFull else { throw ToolError(error) }
            return false
        }
    }

    /// Waits for the acknowledgement of everything sent, then closes. Throws `ToolError.notDelivered`.
    func finish() throws(ToolError) {
        defer { producer.close() }
        try settle()
    }

    /// Closes without waiting; what was not acknowledged may or may not be published.
    func abandon() {
        producer.close(flushMilliseconds: 0)
    }

    private static func checkReachable(
        _ settings: KafkaSettings,
        topics: [String],
        _ tell: @escaping (_ text: String) -> Void
    ) throws(ToolError) {
        do throws(KafkaError) {
            let admin = try KafkaAdmin(forCommand: settings, clientID: "belfry-publish", tell: tell)
            defer { admin.close() }
            try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                for topic in topics { _ = try admin.partitionCount(of: topic, timeoutMilliseconds: 10_000) }
            }
        } catch {
            throw ToolError(asking: error)
        }
    }

    /// Counts on the thread that polls, which is the owner's.
    private final class DeliveryTally {
        var sent = 0
        private(set) var acknowledged = 0
        private(set) var failed = 0
        private(set) var reason: String?
        var onAcknowledged: ((_ number: UInt64, _ partition: Int32, _ offset: Int64) -> Void)?

        func count(_ number: UInt64, _ error: KafkaError?, _ partition: Int32, _ offset: Int64) {
            guard let error else {
                acknowledged += 1
                onAcknowledged?(number, partition, offset)
                return
            }
            failed += 1
            if reason == nil { reason = "\(error)" }
        }
    }
}
