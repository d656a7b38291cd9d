import KafkaClient
import PipelineCore

/// A producer that measures some acknowledgements: from producing a message to the broker's report on it, lingering in
/// the client included.
///
/// The receiver of the reports hands them on, see ``noteDelivery(_:error:)``.
package final class TimedProducer: MessageProducer {
    private let producer: any MessageProducer
    private let clock: () -> MonotonicTime
    private var sampler = RoundTripSampler()

    package init(_ producer: any MessageProducer, clock: @escaping () -> MonotonicTime) {
        self.producer = producer
        self.clock = clock
    }

    package var acknowledgements: Histogram? { sampler.roundTrips }

    package func noteDelivery(_ opaque: UInt64, error: KafkaError?) {
        sampler.end(opaque, isAnswered: error == nil, now: clock())
    }

    package func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try producer.produce(
            topic: name,
            partition: partition,
            key: key,
            value: value,
            headers: headers,
            opaque: opaque
        )
        sampler.begin(opaque, now: clock())
    }

    package func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try producer.produce(
            topic: name,
            partition: partition,
            key: key,
            value: value,
            headers: headers,
            opaque: opaque
        )
        sampler.begin(opaque, now: clock())
    }

    package func poll(timeoutMilliseconds: Int32) { producer.poll(timeoutMilliseconds: timeoutMilliseconds) }
    package func close(flushMilliseconds: Int32) { producer.close(flushMilliseconds: flushMilliseconds) }
}
