import CRdKafka

extension KafkaError {
    /// The group does not know the member (any more), or not in this generation: another member does the same work.
    public var isFencing: Bool {
        [
            RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
            RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
        ].contains { $0.rawValue == code }
    }

    /// The group's coordinator refused a request of a known member.
    public var isFromGroup: Bool {
        code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS.rawValue
            || code == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE.rawValue
    }
}
