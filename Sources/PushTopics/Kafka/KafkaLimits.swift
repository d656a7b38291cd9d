/// Kafka's limits used by several roles.
package enum KafkaLimits {
    /// Most bytes of commit metadata; Kafka's default limit.
    package static let metadataBytes = 4096
    /// Bytes of a dead letter's value after the broker refused its size.
    package static let cutBytes = 256 << 10
}
