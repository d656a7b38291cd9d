import CRdKafka

extension KafkaError {
    /// The brokers refuse the topic to this client, or do not know it. Operators have to mend that; then the same
    /// message is taken.
    public var isTopicRefused: Bool {
        isUnknownTopicOrPartition
            || [
                RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_SECURITY_DISABLED,
                RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
            ].contains { $0.rawValue == code }
    }

    /// The brokers refuse the message itself, however often it comes: its size, its content, or its time.
    public var isMessageRefused: Bool {
        [
            RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
            RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
            RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
        ].contains { $0.rawValue == code }
    }
}
