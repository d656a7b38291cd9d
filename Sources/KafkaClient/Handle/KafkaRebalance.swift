/// A rebalance for whose answer librdkafka waits.
enum KafkaRebalance {
    case assign([KafkaTopicPartition])
    case revoke([KafkaTopicPartition])

    var partitions: [KafkaTopicPartition] {
        switch self {
        case .assign(let partitions), .revoke(let partitions): partitions
        }
    }

    var isAssign: Bool {
        if case .assign = self { true } else { false }
    }
}
