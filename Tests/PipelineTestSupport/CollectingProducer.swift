import KafkaClient
import PushTopics

/// Takes what is produced; the test says when it is acknowledged.
final class CollectingProducer: MessageProducer {
    struct Record: Equatable {
        var topic: String
        var key: [UInt8]?
        var value: [UInt8]?
        var number: UInt64
    }

    private(set) var records: [Record] = []
    /// Called with each record that is taken.
    var onProduce: (Record) -> Void = { _ in }

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        take(.init(topic: name, key: Array(key), value: Array(value), number: opaque))
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        take(.init(topic: name, key: key, value: value, number: opaque))
    }

    func poll(timeoutMilliseconds: Int32) {}

    func close(flushMilliseconds: Int32) {}

    private func take(_ record: Record) {
        records.append(record)
        onProduce(record)
    }
}
