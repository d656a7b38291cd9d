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

    @Test("a consumer that failed permanently tells the cause once, by its handler and not in place of a message")
    func fenced() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var fatal: [KafkaError] = []
        var received = Received()
        consumer.onError = { if $0.isFatal { fatal.append($0) } }
        serve(consumer, until: { consumer.hasJoined })
        fence(consumer)
        serve(consumer, until: { !fatal.isEmpty }, take: { received.take($0) })
        // Nothing more comes from a client that failed.
        while let batch = consumer.consumeBatch(max: 10) { received.take(batch) }
        #expect(fatal.map(\.isFencing) == [true])
        #expect(received.errors.isEmpty)
        consumer.onError = nil
    }

    @Test("a consumer that failed permanently is closed without waiting for its group")
    func closed() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let consumer = try broker.consumer()
        serve(consumer, until: { consumer.hasJoined })
        var isTold = false
        consumer.onError = { if $0.isFatal { isTold = true } }
        fence(consumer)
        serve(consumer, until: { isTold })
        #expect(consumer.close(timeoutMilliseconds: 0))
    }

    @Test("a member has joined once its assignment is answered, be it empty, and rejoins from giving back to the next")
    func joined() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let first = try broker.consumer(group: "g")
        defer { first.close() }
        #expect(!first.hasJoined)
        serve(first, until: { first.hasJoined })
        #expect(first.rejoiningSince == nil)

        var isRevoked = false
        first.onRevoked = { _, _ in isRevoked = true }
        let second = try broker.consumer(group: "g")
        defer { second.close() }
        serve(first, second, until: { isRevoked })
        #expect(!second.hasJoined)
        #expect(first.rejoiningSince == nil, "its partitions are still its own")
        try first.completeRevoke()
        #expect(first.hasJoined)
        #expect(first.rejoiningSince != nil)
        first.onRevoked = nil
        serve(first, second, until: { first.rejoiningSince == nil && second.hasJoined })
        #expect(first.assignedPartitions.count + second.assignedPartitions.count == 1, "one of them stands by")
    }
}
