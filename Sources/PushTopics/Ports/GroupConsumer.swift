import KafkaClient

/// A member of a consumer group, as a role needs it. The contract is that of ``KafkaConsumer``.
///
/// The role decides, its ports carry out: so the same shard or applier runs on librdkafka and on a simulated broker.
/// Questions that the broker answers have completions, called once on the role's event loop and never from inside the
/// call.
package protocol GroupConsumer: AnyObject {
    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch?
    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError)
    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    )
    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError)
    func completeRevoke() throws(KafkaError)
    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError)
    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError)
    func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError)
    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    )
    func nextRound(_ body: @escaping () -> Void)
    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks?
    @discardableResult
    func close(timeoutMilliseconds: Int32) -> Bool
}

extension KafkaConsumer: GroupConsumer {}
