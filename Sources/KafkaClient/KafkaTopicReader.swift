import CRdKafka

/// Reads all partitions of a topic without a consumer group: it begins at once and waits for no other member.
///
/// One thread makes all calls. Call ``close()`` before the last reference goes.
public final class KafkaTopicReader {
    /// The place in each partition at which the reading begins.
    public enum Start: Sendable {
        case beginning
        /// Behind everything that is there when the reader is made.
        case end
    }

    private let inbox: KafkaInbox
    private let onLog: ((KafkaLogLine) -> Void)?
    private var handle: KafkaHandle?
    private let topic: OpaquePointer
    /// Takes the messages of all partitions.
    private let queue: OpaquePointer
    private let partitions: Range<Int32>
    private let fetched = KafkaFetchBuffer()

    private static let defaults: KafkaProperties = [
        "enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "false",
        "auto.offset.reset": "error",
    ]

    /// Asks the brokers for the topic's partitions and their extents, and begins.
    ///
    /// - Parameters:
    ///   - properties: at least `bootstrap.servers`.
    ///   - timeoutMilliseconds: longest wait for each of these two answers.
    ///   - onLog: takes the lines of librdkafka's log, from inside this call, ``read(max:timeoutMilliseconds:)`` and
    ///     ``close()``. It may not call the reader.
    /// - Throws: `KafkaError`, with `isUnknownTopicOrPartition` if the topic does not exist.
    public init(
        properties: KafkaProperties,
        topic name: String,
        from start: Start,
        timeoutMilliseconds: Int32,
        onLog: ((KafkaLogLine) -> Void)? = nil
    ) throws(KafkaError) {
        let count = try Self.partitionCount(of: name, properties, timeoutMilliseconds, onLog)
        let partitions = 0..<Int32(count)
        let inbox = KafkaInbox()
        let configuration = try KafkaConfiguration(
            properties,
            defaults: Self.defaults,
            isConsumer: true,
            inbox: inbox
        )
        let handle = try configuration.makeHandle(inbox: inbox)
        var offsets = partitions.map { _ in KafkaOffset.beginning }
        if start == .end {
            // Not the offset that stands for the end: that is looked up later, when more may be there.
            let places = partitions.map { KafkaTopicPartition(topic: name, partition: $0) }
            do throws(KafkaError) {
                offsets = try KafkaWatermarks.query(places, of: handle, timeoutMilliseconds: timeoutMilliseconds)
                    .map(\.high)
            } catch {
                Self.takeReports(handle, inbox, onLog)
                throw error
            }
        }
        guard let topic = rd_kafka_topic_new(handle.pointer, name, nil) else {
            throw KafkaError(rd_kafka_last_error(), "topic \(name)")
        }
        guard let queue = rd_kafka_queue_new(handle.pointer) else {
            preconditionFailure("librdkafka makes a queue or aborts")
        }
        self.inbox = inbox
        self.onLog = onLog
        self.handle = handle
        self.topic = topic
        self.queue = queue
        self.partitions = partitions
        for (partition, offset) in zip(partitions, offsets) {
            guard rd_kafka_consume_start_queue(topic, partition, offset, queue) == 0 else {
                let error = KafkaError(rd_kafka_last_error(), "reading \(name)[\(partition)] from \(offset)")
                close()
                throw error
            }
        }
    }

    deinit { precondition(handle == nil, "a Kafka reader is closed before it is let go") }

    private static func partitionCount(
        of topic: String,
        _ properties: KafkaProperties,
        _ timeoutMilliseconds: Int32,
        _ onLog: ((KafkaLogLine) -> Void)?
    ) throws(KafkaError) -> Int {
        let admin = try KafkaAdmin(properties: properties)
        admin.onLog = onLog
        defer { admin.close() }
        return try admin.partitionCount(of: topic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// The fetched messages of any partitions; nil when there are none. An error stands in place of a message.
    ///
    /// - Parameters:
    ///   - max: most messages, at least 1.
    ///   - timeoutMilliseconds: the longest wait for the first message.
    public func read(max: Int, timeoutMilliseconds: Int32 = 0) -> KafkaBatch? {
        guard let handle else { return nil }
        Self.takeReports(handle, inbox, onLog)
        var count = fetched.fill(from: queue, max: max, timeoutMilliseconds: 0)
        // librdkafka waits until a batch is full, so the wait is for one message.
        if count == 0, timeoutMilliseconds > 0 {
            count = fetched.fill(from: queue, max: 1, timeoutMilliseconds: timeoutMilliseconds)
        }
        return count > 0 ? fetched.batch(count, handle: handle) : nil
    }

    private static func takeReports(
        _ handle: KafkaHandle,
        _ inbox: KafkaInbox,
        _ onLog: ((KafkaLogLine) -> Void)?
    ) {
        rd_kafka_poll(handle.pointer, 0)
        while let report = inbox.takeReport() {
            // Not errors: brokers that are away come back by themselves, and the log says the same.
            if case .log(let line) = report { onLog?(line) }
        }
    }

    /// Stops reading and frees the client. Idempotent. Batches may outlive the reader.
    public func close() {
        guard let handle else { return }
        Self.takeReports(handle, inbox, onLog)
        for partition in partitions { rd_kafka_consume_stop(topic, partition) }
        rd_kafka_queue_destroy(queue)
        rd_kafka_topic_destroy(topic)
        self.handle = nil
    }
}
