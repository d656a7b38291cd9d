import CRdKafka

extension KafkaAdmin {
    /// The settings in force for a topic, including those inherited from its broker.
    ///
    /// Settings without a value, and those that a broker does not disclose, are left out.
    ///
    /// - Parameter timeoutMilliseconds: for each of two questions.
    /// - Throws: `KafkaError`: `isUnknownTopicOrPartition` if the topic does not exist; `isUnsupported` if the cluster
    ///   cannot be asked, like the embedded broker.
    public func topicSettings(
        of topic: String,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [String: String] {
        try settings(of: RD_KAFKA_RESOURCE_TOPIC, topic, "settings of topic \(topic)", timeoutMilliseconds)
    }

    /// The settings in force for one of the brokers, the controller.
    ///
    /// - Parameter timeoutMilliseconds: for each of two questions.
    /// - Throws: `KafkaError`: `isUnsupported` if the cluster cannot be asked, like the embedded broker.
    public func brokerSettings(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: String] {
        let handle = try openHandle("settings of a broker")
        let controller = rd_kafka_controllerid(handle.pointer, timeoutMilliseconds)
        return try settings(of: RD_KAFKA_RESOURCE_BROKER, "\(controller)", "settings of a broker", timeoutMilliseconds)
    }

    private func settings(
        of kind: rd_kafka_ResourceType_t,
        _ name: String,
        _ context: String,
        _ timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [String: String] {
        let handle = try openHandle(context)
        // librdkafka asks the controller, and waits until the time-out if the controller is no broker of the cluster.
        guard try hasController(handle, timeoutMilliseconds) else {
            let detail = "the cluster has no controller to ask"
            throw KafkaError(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, context, detail: detail)
        }
        var resource = rd_kafka_ConfigResource_new(kind, name)
        guard resource != nil else {
            throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, context, detail: "what is asked about has a name")
        }
        defer { rd_kafka_ConfigResource_destroy(resource) }
        let event = try request(handle, context, timeoutMilliseconds) { options, queue in
            rd_kafka_DescribeConfigs(handle.pointer, &resource, 1, options, queue)
        }
        defer { rd_kafka_event_destroy(event) }
        var count = 0
        let resources = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        guard count == 1, let answer = resources?[0] else {
            throw KafkaError(RD_KAFKA_RESP_ERR__BAD_MSG, context, detail: "the answer is about \(count) of them")
        }
        let code = rd_kafka_ConfigResource_error(answer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let detail = rd_kafka_ConfigResource_error_string(answer).map { String(cString: $0) }
            throw KafkaError(code, context, detail: detail)
        }
        var entries = 0
        let list = rd_kafka_ConfigResource_configs(answer, &entries)
        var settings: [String: String] = [:]
        for entry in UnsafeBufferPointer(start: list, count: entries) {
            guard let name = rd_kafka_ConfigEntry_name(entry), let value = rd_kafka_ConfigEntry_value(entry) else {
                continue
            }
            settings[String(cString: name)] = String(cString: value)
        }
        return settings
    }

    /// The cluster's controller is one of its brokers. Any broker answers; the embedded one names a missing controller.
    private func hasController(_ handle: KafkaHandle, _ timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(handle.pointer, 0, nil, &metadata, timeoutMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw unreachable(code, handle) }
        defer { rd_kafka_metadata_destroy(metadata) }
        let controller = rd_kafka_controllerid(handle.pointer, 0)
        return UnsafeBufferPointer(start: metadata.pointee.brokers, count: Int(metadata.pointee.broker_cnt))
            .contains { $0.id == controller }
    }
}
