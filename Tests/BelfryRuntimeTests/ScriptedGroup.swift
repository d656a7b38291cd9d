@testable import BelfryRuntime
@testable import KafkaClient

/// A member of a group that remembers what a shard answers. It has no messages.
final class ScriptedGroup: GroupConsumer {
    /// Of every partition; nil: the broker does not answer.
    var committedOffset: Int64?
    private(set) var answers: [[KafkaPartitionOffset]] = []
    private(set) var revocations = 0

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? { nil }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {}

    func commitSynchronously(_ offsets: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {}

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        guard let committedOffset else { throw KafkaError.closed("positions") }
        return partitions.map { KafkaPartitionOffset($0, offset: committedOffset) }
    }

    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError) {
        answers.append(positions)
    }

    func completeRevoke() throws(KafkaError) {
        revocations += 1
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {}

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {}

    func seek(to positions: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {}

    func watermarks(of place: KafkaTopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaWatermarks {
        throw KafkaError.closed("watermarks")
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? { nil }

    func close(timeoutMilliseconds: Int32) -> Bool { true }
}

/// Takes everything and never reports on it.
final class SilentProducer: MessageProducer {
    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {}

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {}

    func poll(timeoutMilliseconds: Int32) {}

    func close(flushMilliseconds: Int32) {}
}

/// No way to any gateway.
final class ShutDoor: GatewayDoor {
    func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)? { nil }
}
