import KafkaClient

/// Publishes records and waits until Kafka has acknowledged them all. Blocks its thread: for commands, not for roles.
final class RecordProducer {
    /// How long a command waits for brokers that do not answer.
    static let timeoutMilliseconds: Int32 = 30_000

    private let producer: KafkaProducer
    private let tally = DeliveryTally()

    /// Throws `ToolError.kafka` if the brokers cannot be reached or have no such topic.
    init(_ settings: KafkaSettings, topic: String) throws(ToolError) {
        try Self.checkReachable(settings, topic: topic)
        var properties = settings.producerProperties(clientID: "belfry-publish")
        // A role tries for as long as it takes; a command tells that it failed.
        properties["message.timeout.ms"] = "\(Self.timeoutMilliseconds)"
        let tally = tally
        do throws(KafkaError) {
            producer = try KafkaProducer(properties: properties)
        } catch {
            throw ToolError(error)
        }
        producer.onDelivery = { _, error, _, _ in tally.count(error) }
    }

    /// Hands one record over; waits while the producer's queue is full.
    func send(_ record: OutgoingRecord, to topic: String) throws(ToolError) {
        tally.sent += 1
        let key = Array(record.key.utf8)
        while true {
            do throws(KafkaError) {
                try key.span.withUnsafeBytes { key throws(KafkaError) in
                    try record.value.span.withUnsafeBytes { value throws(KafkaError) in
                        try producer.produce(
                            topic: topic,
                            key: key,
                            value: value,
                            headers: record.headers.map { ($0.name, $0.value) },
                            opaque: 0
                        )
                    }
                }
                producer.poll()
                return
            } catch {
                guard error.isQueueFull else { throw ToolError(error) }
                producer.poll(timeoutMilliseconds: 100)
            }
        }
    }

    /// Waits for the acknowledgement of everything sent, then closes. Throws `ToolError.notDelivered`.
    func finish() throws(ToolError) {
        defer { producer.close() }
        try? producer.flush(timeoutMilliseconds: Self.timeoutMilliseconds + 1000)
        let missing = tally.sent - tally.acknowledged
        guard missing == 0 else {
            throw .notDelivered(failed: missing, of: tally.sent, reason: tally.reason ?? "no answer from the brokers")
        }
    }

    /// Closes without waiting; what was not acknowledged may or may not be published.
    func abandon() {
        producer.close(flushMilliseconds: 0)
    }

    private static func checkReachable(_ settings: KafkaSettings, topic: String) throws(ToolError) {
        do throws(KafkaError) {
            let admin = try KafkaAdmin(properties: settings.adminProperties(clientID: "belfry-publish"))
            defer { admin.close() }
            _ = try admin.partitionCount(of: topic, timeoutMilliseconds: 10_000)
        } catch {
            guard error.isUnknownTopicOrPartition else { throw ToolError(error) }
            throw .kafka("\(error); belfry topics create makes it")
        }
    }

    /// Counts on the thread that polls, which is the owner's.
    private final class DeliveryTally {
        var sent = 0
        private(set) var acknowledged = 0
        private(set) var reason: String?

        func count(_ error: KafkaError?) {
            guard let error else {
                acknowledged += 1
                return
            }
            if reason == nil { reason = "\(error)" }
        }
    }
}
