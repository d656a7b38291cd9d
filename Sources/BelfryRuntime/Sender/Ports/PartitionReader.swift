import KafkaClient

/// A reader of partitions that is no group's member; see ``KafkaReader``, whose contract this is.
protocol PartitionReader: AnyObject {
    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError)
    func stop(_ place: KafkaTopicPartition)
    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch?
    func close()
}

extension KafkaReader: PartitionReader {}

/// What a follower of a whole topic needs: also to ask what its partitions hold.
protocol TopicReader: PartitionReader {
    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks]
}

extension KafkaReader: TopicReader {}
