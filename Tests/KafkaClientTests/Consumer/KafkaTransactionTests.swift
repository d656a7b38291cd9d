import CRdKafka
import Testing

@testable import KafkaClient

/// Marks and aborted records of transactions, as a consumer of committed records meets them.
@Suite("Transactions", .serialized, .timeLimit(.minutes(2)))
struct KafkaTransactionTests {
    private static let timeoutMilliseconds: Int32 = 30_000

    private func take(_ producer: KafkaProducer, _ step: (OpaquePointer) -> OpaquePointer?) throws {
        let handle = try #require(producer.handle)
        if let error = step(handle.pointer) { throw KafkaError(consuming: error, "transaction") }
    }

    /// The end of the log in the last fetch, marks and all.
    private func end(_ consumer: KafkaConsumer, _ place: KafkaTopicPartition) -> Int64 {
        var (low, high) = (Int64(-1), Int64(-1))
        if let handle = consumer.handle {
            rd_kafka_get_watermark_offsets(handle.pointer, place.topic, place.partition, &low, &high)
        }
        return high
    }

    @Test("Marks of transactions, and records that were aborted, are no lag once a partition was read to its end")
    func lag() throws {
        let broker = try TestBroker(.foreign)
        defer { broker.close() }
        let place = broker.places[0]
        let producer = try broker.producer(["transactional.id": broker.topic])
        defer { producer.close() }
        try take(producer) { rd_kafka_init_transactions($0, Self.timeoutMilliseconds) }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let consumer = try broker.consumer(["isolation.level": "read_committed"])
        defer { consumer.close() }
        var received = Received()
        var next: Int64 { (received.offsets[0]?.last ?? -1) + 1 }
        var committed = 0
        // This broker takes a producer's records for aborted that follow those which were.
        for (records, isCommitted) in [(3, true), (1, true), (2, false)] {
            try take(producer) { rd_kafka_begin_transaction($0) }
            for number in 0..<records {
                try producer.produce(topic: broker.topic, key: nil, value: Array("\(number)".utf8))
            }
            try producer.flush(timeoutMilliseconds: Self.timeoutMilliseconds)
            try take(producer) { client in
                isCommitted
                    ? rd_kafka_commit_transaction(client, Self.timeoutMilliseconds)
                    : rd_kafka_abort_transaction(client, Self.timeoutMilliseconds)
            }
            committed += isCommitted ? records : 0
            let high = try admin.watermarks(of: place, timeoutMilliseconds: Self.timeoutMilliseconds).high
            serve(
                consumer,
                until: {
                    received.numbers.count == committed && end(consumer, place) == high
                        && consumer.cachedWatermarks(place)?.high == next
                },
                take: { received.take($0) }
            )
            #expect(next < high, "a mark takes an offset")
        }
        #expect(received.errors.isEmpty, "ends are handed out to those alone who ask for them")
        let start = KafkaPartitionOffset(place, offset: next)
        let later = try broker.consumer(["isolation.level": "read_committed"])
        defer { later.close() }
        later.onAssigned = { [unowned later] _ in try? later.completeAssign([start]) }
        serve(
            later,
            until: { end(later, place) == end(consumer, place) && later.cachedWatermarks(place)?.high == start.offset },
            take: { received.take($0) }
        )
        #expect(received.numbers.count == committed, "one that begins behind the last record has no lag either")
    }
}
