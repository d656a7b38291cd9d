import CRdKafka

/// Owns a `rd_kafka_conf_t` until a client is made of it.
struct KafkaConfiguration: ~Copyable {
    private static let errorBytes = 512

    let pointer: OpaquePointer
    private let isConsumer: Bool

    /// - Parameters:
    ///   - defaults: our defaults; the caller's properties replace them.
    /// - Throws: `KafkaError` (`isConfiguration`) that names the property and librdkafka's objection.
    init(
        _ properties: KafkaProperties,
        defaults: KafkaProperties,
        isConsumer: Bool,
        inbox: KafkaInbox
    ) throws(KafkaError) {
        pointer = rd_kafka_conf_new()
        self.isConsumer = isConsumer
        for property in defaults.merging(properties).all { try set(property) }
        // Not the caller's choice: it sends every log line through the queue that we serve, so no thread of librdkafka
        // ever runs Swift code.
        try set(.init(name: "log.queue", value: "true"))
        rd_kafka_conf_set_opaque(pointer, Unmanaged.passUnretained(inbox).toOpaque())
        rd_kafka_conf_set_error_cb(pointer, KafkaInbox.onError)
        rd_kafka_conf_set_log_cb(pointer, KafkaInbox.onLog)
        if isConsumer {
            rd_kafka_conf_set_rebalance_cb(pointer, KafkaInbox.onRebalance)
        } else {
            rd_kafka_conf_set_dr_msg_cb(pointer, KafkaInbox.onDelivery)
        }
    }

    deinit { rd_kafka_conf_destroy(pointer) }

    /// The value in force for a property of librdkafka. Nil if it has none, or one of more than 255 bytes.
    func value(_ name: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            var size = text.count
            guard let start = text.baseAddress, rd_kafka_conf_get(pointer, name, start, &size) == RD_KAFKA_CONF_OK
            else { return nil }
            return String(cString: start)
        }
    }

    /// - Parameter inbox: the inbox given to `init`.
    consuming func makeHandle(inbox: KafkaInbox) throws(KafkaError) -> KafkaHandle {
        let kind = isConsumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER
        let made: Result<OpaquePointer, KafkaError> = Self.withErrorText { text, size in
            guard let client = rd_kafka_new(kind, pointer, text, size) else {
                return .failure(
                    KafkaError(rd_kafka_last_error(), "Kafka client not made", detail: String(cString: text))
                )
            }
            return .success(client)
        }
        switch made {
        case .failure(let error):
            // Destroyed with self; without a client it has no other owner.
            _ = consume self
            throw error
        case .success(let client):
            // The client owns the configuration now.
            discard self
            // Nil forwards the log to the main queue. It cannot fail with log.queue set.
            rd_kafka_set_log_queue(client, nil)
            return KafkaHandle(client, inbox: inbox)
        }
    }

    private func set(_ property: KafkaProperties.Property) throws(KafkaError) {
        let failure: KafkaError? = Self.withErrorText { text, size in
            guard rd_kafka_conf_set(pointer, property.name, property.value, text, size) != RD_KAFKA_CONF_OK else {
                return nil
            }
            return KafkaError(
                RD_KAFKA_RESP_ERR__INVALID_ARG,
                "Kafka property \(property.name)",
                detail: String(cString: text)
            )
        }
        if let failure { throw failure }
    }

    /// Calls `body` with a buffer for librdkafka's reasons.
    static func withErrorText<R>(_ body: (UnsafeMutablePointer<CChar>, Int) -> R) -> R {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: errorBytes) { text in
            text.initialize(repeating: 0)
            // A temporary allocation of at least one byte has an address.
            return body(text.baseAddress!, text.count)
        }
    }
}
