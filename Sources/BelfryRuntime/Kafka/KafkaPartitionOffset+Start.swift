import KafkaClient

extension KafkaPartitionOffset {
    /// Where consuming starts: at the committed offset, or at the beginning of a partition of which nothing is committed.
    ///
    /// Said in so many words, because `auto.offset.reset` is `error` here: an offset that is out of range must be seen.
    var startPosition: KafkaPartitionOffset {
        guard offset == KafkaOffset.none else { return self }
        return KafkaPartitionOffset(topic: topic, partition: partition, offset: KafkaOffset.beginning, metadata: "")
    }
}
