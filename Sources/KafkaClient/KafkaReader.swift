import CRdKafka

/// Reads partitions from positions named by the caller, without a consumer group, assignment or commit.
///
/// One thread makes all calls. Messages fetched and not read are limited per partition (`queued.max.messages.kbytes`).
/// There is no wake-up: the caller asks again. Call ``close()`` before the last reference goes.
public final class KafkaReader {
    /// Errors of brokers, from which librdkafka recovers by itself unless the error `isFatal`.
    public var onError: ((KafkaError) -> Void)?

    /// Takes the lines of librdkafka's log, also those left when the client is closed.
    public var onLog: ((KafkaLogLine) -> Void)?

    private let inbox = KafkaInbox()
    private var handle: KafkaHandle?
    private var readings: [KafkaTopicPartition: Reading] = [:]
    private let fetched = KafkaFetchBuffer()

    private struct Reading {
        var topic: OpaquePointer
        var queue: OpaquePointer
    }

    /// The end of a partition is reported, so that a reader knows that it got there.
    private static let defaults: KafkaProperties = [
        "enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "true",
        "auto.offset.reset": "error",
    ]

    /// - Parameter properties: at least `bootstrap.servers`.
    public init(properties: KafkaProperties) throws(KafkaError) {
        let configuration = try KafkaConfiguration(
            properties,
            defaults: Self.defaults,
            isConsumer: true,
            inbox: inbox
        )
        handle = try configuration.makeHandle(inbox: inbox)
    }

    deinit {
        precondition(handle == nil, "a Kafka reader is closed before it is let go")
    }

    /// Reads a partition from an offset on; a partition already being read is moved there.
    public func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        guard let handle else { throw KafkaError.closed("reading \(place)") }
        stop(place)
        guard let topic = rd_kafka_topic_new(handle.pointer, place.topic, nil) else {
            throw KafkaError(rd_kafka_last_error(), "topic \(place.topic)")
        }
        // A queue of its own: messages fetched from the former position go with the old queue.
        guard let queue = rd_kafka_queue_new(handle.pointer) else {
            preconditionFailure("librdkafka makes a queue or aborts")
        }
        guard rd_kafka_consume_start_queue(topic, place.partition, offset, queue) == 0 else {
            let error = KafkaError(rd_kafka_last_error(), "reading \(place) from \(offset)")
            rd_kafka_queue_destroy(queue)
            rd_kafka_topic_destroy(topic)
            throw error
        }
        readings[place] = Reading(topic: topic, queue: queue)
    }

    /// Stops reading a partition. Waits for librdkafka's own threads, not for brokers, even if those are away: about
    /// 0.2 ms, or as long as the scheduler keeps those threads from running.
    public func stop(_ place: KafkaTopicPartition) {
        guard let old = readings.removeValue(forKey: place) else { return }
        rd_kafka_consume_stop(old.topic, place.partition)
        rd_kafka_queue_destroy(old.queue)
        rd_kafka_topic_destroy(old.topic)
    }

    /// The partitions being read, in order.
    public var reading: [KafkaTopicPartition] { readings.keys.sorted() }

    /// The fetched messages of a partition; nil when there are none now. An error, including the end of the partition,
    /// stands in place of a message.
    ///
    /// - Parameter max: most messages, at least 1.
    public func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        // Not `readings[place]?.queue`: Swift 6.3.1 takes that for a queue in debug builds when the place is missing.
        guard let handle, let current = readings[place] else { return nil }
        takeReports(handle)
        let count = fetched.fill(from: current.queue, max: max, timeoutMilliseconds: 0)
        return count > 0 ? fetched.batch(count, handle: handle) : nil
    }

    /// Asks the brokers for the watermarks of partitions at once; waits at most `timeoutMilliseconds`.
    ///
    /// - Returns: as many watermarks, in the same order.
    public func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks] {
        guard let handle else { throw KafkaError.closed("watermarks") }
        return try KafkaWatermarks.query(places, of: handle, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Stops all reading and frees the client. Idempotent. Batches may outlive the reader.
    public func close() {
        for place in reading { stop(place) }
        guard let handle else { return }
        self.handle = nil
        takeReports(handle)
    }

    private func takeReports(_ handle: KafkaHandle) {
        rd_kafka_poll(handle.pointer, 0)
        while let report = inbox.takeReport() {
            switch report {
            case .error(let error): onError?(error)
            case .log(let line): onLog?(line)
            case .assigned, .revoked, .rebalanceFailed: preconditionFailure("a reader has no group")
            }
        }
    }
}
