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
        var properties = properties
        properties["group.id"] = group
        let inbox = KafkaInbox()
        let handle = try KafkaConfiguration(
            properties,
            defaults: ["enable.auto.commit": "false", "enable.auto.offset.store": "false"],
            isConsumer: true,
            inbox: inbox
        ).makeHandle(inbox: inbox)
        let list = KafkaPartitionList(offsets)
        let code = rd_kafka_commit(handle.pointer, list.pointer, 0)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "commit to group \(group)") }
    }
}
