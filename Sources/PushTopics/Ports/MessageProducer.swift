import KafkaClient
import PipelineCore

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

    /// The time from producing a message to the broker's report, of some messages; nil: it is not measured.
    var acknowledgements: Histogram? { get }
    /// Measures with a report, which the client's owner got. By default nothing is measured.
    func noteDelivery(_ opaque: UInt64, error: KafkaError?)
}

extension MessageProducer {
    package var acknowledgements: Histogram? { nil }
    package func noteDelivery(_ opaque: UInt64, error: KafkaError?) {}
}

extension KafkaProducer: MessageProducer {}
