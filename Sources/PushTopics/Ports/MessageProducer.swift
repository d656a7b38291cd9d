import KafkaClient

/// The part of a producer that a shard needs. The contract is that of ``KafkaProducer``: every accepted message is
/// reported on once, from inside ``poll(timeoutMilliseconds:)`` or ``close(flushMilliseconds:)``.
package protocol MessageProducer: AnyObject {
    /// Produces from buffers. A nil base address means no key, and no value.
    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError)
    /// Produces from arrays; nil means no key, and no value.
    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError)
    func poll(timeoutMilliseconds: Int32)
    func close(flushMilliseconds: Int32)
}

extension KafkaProducer: MessageProducer {}
