import KafkaClient

/// What a shard needs of a producer; see ``KafkaProducer``, whose contract this is: every message that was accepted is
/// reported on once, from inside ``poll(timeoutMilliseconds:)`` or ``close(flushMilliseconds:)``.
protocol MessageProducer: AnyObject {
    /// A nil base address means no key, and no value.
    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError)
    /// As from buffers; nil means no key, and no value.
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
