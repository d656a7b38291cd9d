/// Kafka's limits used by several roles.
package enum KafkaLimits {
    /// Bytes of a dead letter's value after the broker refused its size.
    package static let cutBytes = 256 << 10
}
