import CRdKafka

/// An error of librdkafka or the broker.
///
/// `message` is for a person: it names the action and its subject (topic, partition, property, broker).
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `rd_kafka_resp_err_t`: negative codes are librdkafka's own, positive ones are the broker's.
    public let code: Int32
    /// The code's name without its prefix: `_TRANSPORT`, `UNKNOWN_TOPIC_OR_PART`.
    public let name: String
    public let message: String
    /// The same call may work later, unchanged.
    public let isRetriable: Bool
    /// The client failed permanently (an idempotent producer's broken sequence, a fenced instance): a consumer must be
    /// closed, a producer replaces its inner client by itself if it can.
    public let isFatal: Bool

    public var description: String { "\(message) [\(name)]" }
}

extension KafkaError {
    /// The producer's queue is full: poll, and produce again when deliveries have made room.
    public var isQueueFull: Bool { code == RD_KAFKA_RESP_ERR__QUEUE_FULL.rawValue }
    /// Not an error: the end of a partition was reached (only with `enable.partition.eof`).
    public var isPartitionEnd: Bool { code == RD_KAFKA_RESP_ERR__PARTITION_EOF.rawValue }
    /// The position does not exist (any more), or there is none, and `auto.offset.reset` is `error`.
    ///
    /// The partition stands still until ``KafkaConsumer/seekWithoutWaiting(to:)`` gives it a position.
    public var isOffsetOutOfRange: Bool {
        code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET.rawValue
            || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE.rawValue
    }
    /// Bytes that the broker sent are no records, or their checksum is wrong. librdkafka fetches them again.
    public var isCorruption: Bool {
        code == RD_KAFKA_RESP_ERR__BAD_MSG.rawValue || code == RD_KAFKA_RESP_ERR__BAD_COMPRESSION.rawValue
            || code == RD_KAFKA_RESP_ERR_INVALID_MSG.rawValue || code == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE.rawValue
    }
    /// The message is larger than the client (`message.max.bytes`) or the broker allows.
    public var isMessageTooLarge: Bool { code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE.rawValue }
    public var isUnknownTopicOrPartition: Bool {
        code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue
            || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC.rawValue
            || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.rawValue
    }
    /// A property is unknown or has a forbidden value.
    public var isConfiguration: Bool { code == RD_KAFKA_RESP_ERR__INVALID_ARG.rawValue }
    /// The broker does not know this kind of request, or no broker serves it; asking again does not help.
    public var isUnsupported: Bool {
        code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.rawValue
            || code == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION.rawValue
    }
    /// The brokers do not take that number of replicas, mostly because there are fewer brokers.
    public var isInvalidReplication: Bool { code == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR.rawValue }
    /// The client was closed before the answer came.
    public var isClosed: Bool { code == RD_KAFKA_RESP_ERR__DESTROY.rawValue }
}

extension KafkaError {
    /// - Parameter context: the action and its subject.
    init(_ code: rd_kafka_resp_err_t, _ context: String, detail: String? = nil) {
        self.init(
            code: code.rawValue,
            name: String(cString: rd_kafka_err2name(code)),
            message: "\(context): \(detail ?? String(cString: rd_kafka_err2str(code)))",
            isRetriable: Self.retriable.contains(code.rawValue),
            isFatal: code == RD_KAFKA_RESP_ERR__FATAL
        )
    }

    /// Takes over a `rd_kafka_error_t` and frees it.
    init(consuming error: OpaquePointer, _ context: String) {
        defer { rd_kafka_error_destroy(error) }
        let code = rd_kafka_error_code(error)
        self.init(
            code: code.rawValue,
            name: String(cString: rd_kafka_err2name(code)),
            message: "\(context): \(String(cString: rd_kafka_error_string(error)))",
            isRetriable: rd_kafka_error_is_retriable(error) != 0 || Self.retriable.contains(code.rawValue),
            isFatal: rd_kafka_error_is_fatal(error) != 0
        )
    }

    static func closed(_ context: String) -> KafkaError {
        KafkaError(RD_KAFKA_RESP_ERR__DESTROY, context, detail: "the client is closed")
    }

    /// Retriable codes, for errors that carry only a code. The broker's are those that Kafka's protocol guide calls
    /// retriable.
    private static let retriable: Set<Int32> = Set(
        [
            RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
            RD_KAFKA_RESP_ERR__QUEUE_FULL, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__WAIT_COORD,
            RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, RD_KAFKA_RESP_ERR__IN_PROGRESS,
            RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
            RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
            RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            RD_KAFKA_RESP_ERR_NOT_CONTROLLER, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
        ].map(\.rawValue)
    )
}
