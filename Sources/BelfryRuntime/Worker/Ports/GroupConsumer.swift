import KafkaClient

/// What a shard needs of a member of a consumer group; see ``KafkaConsumer``, whose contract this is.
///
/// The shard decides, its ports carry out: so the same shard runs on librdkafka and on a simulated broker.
protocol GroupConsumer: AnyObject {
    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch?
    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError)
    func commitSynchronously(_ offsets: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError)
    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaPartitionOffset]
    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError)
    func completeRevoke() throws(KafkaError)
    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError)
    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError)
    func seek(to positions: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError)
    func watermarks(of place: KafkaTopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaWatermarks
    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks?
    @discardableResult
    func close(timeoutMilliseconds: Int32) -> Bool
}

extension KafkaConsumer: GroupConsumer {}
