import CRdKafka
import Testing

@testable import KafkaClient

@Suite("Producer whose client inside broke for good", .serialized, .timeLimit(.minutes(2)))
struct KafkaProducerRenewalTests {
    /// As a broker does that has lost track of the producer's sequence.
    private func breakForGood(_ producer: KafkaProducer) {
        guard let handle = producer.handle else { return }
        rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "test")
    }

    @Test("It is replaced: what was not delivered is reported as failed, once, and producing goes on")
    func goesOn() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let producer = try broker.producer(["enable.idempotence": "true", "linger.ms": "60000"])
        defer { producer.close() }
        var delivered: Set<UInt64> = []
        var failed: [UInt64: Int] = [:]
        var fatal = 0
        producer.onDelivery = { opaque, error, _, _ in
            if error == nil { delivered.insert(opaque) } else { failed[opaque, default: 0] += 1 }
        }
        producer.onError = { if $0.isFatal { fatal += 1 } }
        let topic = try producer.topic(broker.topic)
        for number in 0..<20 as Range<UInt64> {
            try producer.produce(topic: broker.topic, key: nil, value: [1], opaque: number)
        }
        breakForGood(producer)
        while producer.renewals == 0 { producer.poll(timeoutMilliseconds: 100) }
        producer.poll()
        #expect(failed == Dictionary(uniqueKeysWithValues: (0..<20).map { (UInt64($0), 1) }))
        #expect(fatal == 1)

        try producer.produce(topic: broker.topic, key: nil, value: [2], opaque: 100)
        // A topic of the client that is gone serves as well.
        try [UInt8(3)].withUnsafeBytes { try producer.produce(to: topic, key: $0, value: $0, opaque: 101) }
        try producer.flush(timeoutMilliseconds: 30_000)
        #expect(delivered == [100, 101])
        #expect(producer.renewals == 1)
    }

    @Test("A record that is produced again from the report of a failure is delivered")
    func producedAgain() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let producer = try broker.producer(["enable.idempotence": "true", "linger.ms": "60000"])
        defer { producer.close() }
        var again: [UInt64] = []
        var delivered: Set<UInt64> = []
        producer.onDelivery = { opaque, error, _, _ in
            if error == nil { delivered.insert(opaque) } else { again.append(opaque) }
        }
        for number in 0..<20 as Range<UInt64> {
            try producer.produce(topic: broker.topic, key: nil, value: [1], opaque: number)
        }
        breakForGood(producer)
        while again.count < 20 { producer.poll(timeoutMilliseconds: 100) }
        for number in again { try producer.produce(topic: broker.topic, key: nil, value: [1], opaque: number) }
        try producer.flush(timeoutMilliseconds: 30_000)
        #expect(delivered == Set(0..<20))
    }

    @Test("If it cannot be replaced, the producer says that it is defunct")
    func defunct() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let properties: KafkaProperties = ["bootstrap.servers": broker.bootstrapServers, "enable.idempotence": "true"]
        var made = 0
        let producer = try KafkaProducer { inbox throws(KafkaError) in
            made += 1
            guard made == 1 else { throw KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, "no threads left") }
            return try KafkaConfiguration(properties, defaults: [:], isConsumer: false, inbox: inbox)
                .makeHandle(inbox: inbox)
        }
        defer { producer.close(flushMilliseconds: 0) }
        var causes: [String] = []
        producer.onError = { if producer.isDefunct { causes.append($0.message) } }
        #expect(!producer.isDefunct)
        breakForGood(producer)
        while causes.count < 2 { producer.poll(timeoutMilliseconds: 100) }
        #expect(producer.isDefunct && producer.renewals == 0)
        #expect(causes.contains { $0.contains("no threads left") })
        // The handler holds the producer.
        producer.onError = nil
    }
}
