/// A rebalance for whose answer librdkafka waits.
enum KafkaRebalance {
    case assign([KafkaTopicPartition])
    case revoke([KafkaTopicPartition])

    var isAssign: Bool {
        if case .assign = self { true } else { false }
    }
}
