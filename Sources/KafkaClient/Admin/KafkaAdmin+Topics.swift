import CRdKafka

extension KafkaAdmin {
    /// Creates a topic, unless one of that name exists; an existing one stays unchanged.
    ///
    /// - Parameters:
    ///   - replication: replicas of each partition; −1: the broker's default, which brokers older than 2.4 do not know
    ///     (`isUnsupported`).
    ///   - configuration: the topic's settings, such as `cleanup.policy`.
    /// - Returns: true if the topic was created.
    /// - Throws: `KafkaError` with the broker's reason.
    @discardableResult
    public func createTopic(
        _ name: String,
        partitions: Int,
        replication: Int = -1,
        configuration: [(String, String)] = [],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> Bool {
        let context = "creation of topic \(name)"
        let handle = try openHandle(context)
        var order: OpaquePointer?
        let refusal: String? = KafkaConfiguration.withErrorText { text, size in
            order = rd_kafka_NewTopic_new(name, Int32(clamping: partitions), Int32(clamping: replication), text, size)
            return order == nil ? String(cString: text) : nil
        }
        if let refusal { throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, context, detail: refusal) }
        defer { rd_kafka_NewTopic_destroy(order) }
        for (name, value) in configuration { rd_kafka_NewTopic_set_config(order, name, value) }
        let event = try request(handle, context, timeoutMilliseconds) { options, queue in
            rd_kafka_CreateTopics(handle.pointer, &order, 1, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }
        var count = 0
        let results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
        guard count == 1, let result = results?[0] else {
            throw KafkaError(RD_KAFKA_RESP_ERR__BAD_MSG, context, detail: "the answer is about \(count) topics")
        }
        switch rd_kafka_topic_result_error(result) {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return true
        case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: return false
        case let code:
            throw KafkaError(
                code,
                context,
                detail: rd_kafka_topic_result_error_string(result).map { String(cString: $0) }
            )
        }
    }

    /// The committed positions of a group; ``KafkaOffset/none`` where nothing was committed.
    public func committed(
        group: String,
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        let context = "committed positions of group \(group)"
        // As a member would: librdkafka's request of an administrator ends the process if the coordinator goes away
        // while it is asked.
        return try openHandle(of: group, context)
            .committed(partitions, timeoutMilliseconds: timeoutMilliseconds, context)
    }

    /// Sends a request and waits for its event, which the caller destroys.
    func request(
        _ handle: KafkaHandle,
        _ context: String,
        _ timeoutMilliseconds: Int32,
        _ send: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
    ) throws(KafkaError) -> OpaquePointer {
        let options = rd_kafka_AdminOptions_new(handle.pointer, RD_KAFKA_ADMIN_OP_ANY)
        defer { rd_kafka_AdminOptions_destroy(options) }
        KafkaConfiguration.withErrorText { text, size in
            // Fails only for values out of range; librdkafka then uses its default.
            _ = rd_kafka_AdminOptions_set_request_timeout(options, timeoutMilliseconds, text, size)
        }
        let queue = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        send(options, queue)
        guard let event = rd_kafka_queue_poll(queue, timeoutMilliseconds) else {
            throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, "\(context) within \(timeoutMilliseconds) ms")
        }
        let code = rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            defer { rd_kafka_event_destroy(event) }
            throw KafkaError(code, context, detail: String(cString: rd_kafka_event_error_string(event)))
        }
        return event
    }
}
