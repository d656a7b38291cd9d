import CRdKafka
import Testing

@testable import KafkaClient

@Suite("Membership", .serialized, .timeLimit(.minutes(2)))
struct KafkaMembershipTests {
    /// As the group does to a member when a newer one bears its name.
    private func fence(_ consumer: KafkaConsumer) {
        guard let handle = consumer.handle else { return }
        rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, "test")
    }

    @Test("A consumer that failed permanently tells the cause once, by its handler and not in place of a message")
    func fenced() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var fatal: [KafkaError] = []
        var received = Received()
        consumer.onError = { if $0.isFatal { fatal.append($0) } }
        serve(consumer, until: { !consumer.assignedPartitions.isEmpty })
        fence(consumer)
        serve(consumer, until: { !fatal.isEmpty }, take: { received.take($0) })
        // Nothing more comes from a client that failed.
        while let batch = consumer.consumeBatch(max: 10) { received.take(batch) }
        #expect(fatal.map(\.isFencing) == [true])
        #expect(received.errors.isEmpty)
        consumer.onError = nil
    }

    @Test("After a failed rebalance a consumer has no partitions, and says that they are lost")
    func failedRebalance() throws {
        let broker = try TestBroker(.embedded, partitions: 2)
        defer { broker.close() }
        let consumer = try broker.consumer()
        defer { consumer.close() }
        serve(consumer, until: { consumer.assignedPartitions.count == 2 })
        var lost: [[KafkaTopicPartition]] = []
        consumer.onRevoked = { partitions, isLost in
            if isLost { lost.append(partitions) }
            try? consumer.completeRevoke()
        }
        let client = try #require(consumer.handle?.pointer)
        let inbox = Unmanaged.passUnretained(consumer.inbox).toOpaque()
        KafkaInbox.onRebalance(client, RD_KAFKA_RESP_ERR__FAIL, nil, inbox)
        serve(consumer, until: { !lost.isEmpty })
        #expect(lost == [broker.places] && consumer.assignedPartitions.isEmpty)
        consumer.onRevoked = nil
    }

    @Test("A consumer that failed permanently is closed without waiting for its group")
    func closed() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let consumer = try broker.consumer()
        serve(consumer, until: { !consumer.assignedPartitions.isEmpty })
        var isTold = false
        consumer.onError = { if $0.isFatal { isTold = true } }
        fence(consumer)
        serve(consumer, until: { isTold })
        #expect(consumer.close(timeoutMilliseconds: 0))
    }
}
