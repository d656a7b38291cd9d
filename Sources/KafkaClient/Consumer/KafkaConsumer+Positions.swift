import CRdKafka

extension KafkaConsumer {
    /// Commits positions of a group without members. Waits for the broker: not for event loops.
    ///
    /// - Throws: also if the group has members.
    public static func commit(
        _ offsets: [KafkaPartitionOffset],
        group: String,
        properties: KafkaProperties
    ) throws(KafkaError) {
        let handle = try KafkaHandle.ofGroup(group, properties, inbox: KafkaInbox())
        let list = KafkaPartitionList(offsets)
        let code = rd_kafka_commit(handle.pointer, list.pointer, 0)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "commit to group \(group)") }
    }
}

extension KafkaHandle {
    /// A client that asks for the positions of a group, or sets them, and never joins it.
    static func ofGroup(
        _ group: String,
        _ properties: KafkaProperties,
        inbox: KafkaInbox
    ) throws(KafkaError) -> KafkaHandle {
        var properties = properties
        properties["group.id"] = group
        return try KafkaConfiguration(
            properties,
            defaults: ["enable.auto.commit": "false", "enable.auto.offset.store": "false"],
            isConsumer: true,
            inbox: inbox
        ).makeHandle(inbox: inbox)
    }

    /// The committed positions of the group that the client is of; ``KafkaOffset/none`` where nothing was committed.
    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        _ context: String
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        guard !partitions.isEmpty else { return [] }
        let list = KafkaPartitionList(partitions)
        let code = rd_kafka_committed(pointer, list.pointer, timeoutMilliseconds)
        if let failure = list.failure(code, context) { throw failure }
        return list.offsets
    }
}
