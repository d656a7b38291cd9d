import KafkaClient

extension KafkaPartitionOffset {
    /// The start of consuming: the committed offset, or else the partition's beginning.
    ///
    /// The beginning is named explicitly, because `auto.offset.reset` is `error` here: an offset out of range must be
    /// noticed.
    package var startPosition: KafkaPartitionOffset {
        guard offset == KafkaOffset.none else { return self }
        return KafkaPartitionOffset(topic: topic, partition: partition, offset: KafkaOffset.beginning, metadata: "")
    }
}
