import KafkaClient

/// A reader of partitions outside any group. The contract is that of ``KafkaReader``.
package protocol PartitionReader: AnyObject {
    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError)
    func stop(_ place: KafkaTopicPartition)
    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch?
    func close()
}

extension KafkaReader: PartitionReader {}

/// A reader for followers of a whole topic. It also asks for the extents of the partitions.
package protocol TopicReader: PartitionReader {
    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks]
}

extension KafkaReader: TopicReader {}
