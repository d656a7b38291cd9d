import KafkaClient
import NIOCore
import NIOPosix
import Testing

@Suite("Producer", .serialized, .timeLimit(.minutes(2)))
struct KafkaProducerTests {
    @Test("Every accepted message is reported once, with the place it was stored at", arguments: BrokerKind.allCases)
    func reports(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        let producer = try broker.producer()
        defer { producer.close() }
        var offsets: [UInt64: [Int64]] = [:]
        producer.onDelivery = { opaque, error, partition, offset in
            #expect(error == nil)
            #expect(partition == 0)
            offsets[opaque, default: []].append(offset)
        }
        let topic = try producer.topic(broker.topic)
        for number in 0..<1000 as Range<UInt64> {
            let bytes = Array("\(number)".utf8)
            try bytes.withUnsafeBytes { try producer.produce(to: topic, key: $0, value: $0, opaque: number) }
        }
        try producer.flush(timeoutMilliseconds: 30_000)
        #expect(producer.outstanding == 0)
        #expect(offsets.count == 1000)
        #expect(offsets.allSatisfy { $0.value == [Int64($0.key)] })
    }

    @Test("What no broker took is reported as failed, each message once")
    func failures() throws {
        let producer = try KafkaProducer(
            properties: ["bootstrap.servers": unreachableBroker, "message.timeout.ms": "300"]
        )
        defer { producer.close(flushMilliseconds: 0) }
        var failed: [UInt64: Int] = [:]
        producer.onDelivery = { opaque, error, _, offset in
            #expect(error?.name == "_MSG_TIMED_OUT")
            #expect(error?.isRetriable == true)
            #expect(error?.message.contains("some-topic") == true)
            #expect(offset < 0)
            failed[opaque, default: 0] += 1
        }
        for number in 0..<50 as Range<UInt64> {
            try producer.produce(topic: "some-topic", key: nil, value: [1], opaque: number)
        }
        try producer.flush(timeoutMilliseconds: 30_000)
        #expect(failed.count == 50)
        #expect(failed.values.allSatisfy { $0 == 1 })
    }

    @Test(
        "A full queue is an error of its own; what was accepted before it is still reported when the client closes"
    )
    func queueFull() throws {
        let producer = try KafkaProducer(
            properties: ["bootstrap.servers": unreachableBroker, "queue.buffering.max.messages": "10"]
        )
        var reported: [UInt64] = []
        producer.onDelivery = { opaque, error, _, _ in
            #expect(error != nil)
            reported.append(opaque)
        }
        for number in 0..<10 as Range<UInt64> {
            try producer.produce(topic: "t", key: nil, value: [1], headers: [("h", [1])], opaque: number)
        }
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(topic: "t", key: nil, value: [1], headers: [("h", [1])], opaque: 10)
        }
        #expect(error?.isQueueFull == true)
        #expect(error?.isRetriable == true)
        producer.close(flushMilliseconds: 0)
        #expect(reported.sorted() == Array(0..<10))
    }

    @Test("A message beyond the client's limit is refused at once and never reported")
    func tooLarge() throws {
        let producer = try KafkaProducer(
            properties: ["bootstrap.servers": unreachableBroker, "message.max.bytes": "2000"]
        )
        producer.onDelivery = { _, _, _, _ in Issue.record("reported") }
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(topic: "t", key: nil, value: [UInt8](repeating: 0, count: 3000))
        }
        #expect(error?.isMessageTooLarge == true)
        #expect(error?.message.contains("3000") == true)
        producer.close(flushMilliseconds: 0)
    }

    @Test("A partition that does not exist is an error of that message", arguments: BrokerKind.allCases)
    func unknownPartition(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 2)
        defer { broker.close() }
        let producer = try broker.producer()
        defer { producer.close() }
        var error: KafkaError?
        producer.onDelivery = { _, failure, _, _ in error = failure }
        do throws(KafkaError) {
            try producer.produce(topic: broker.topic, partition: 9, key: nil, value: [1])
            try producer.flush(timeoutMilliseconds: 30_000)
        } catch let failure {
            error = failure
        }
        #expect(error?.isUnknownTopicOrPartition == true)
    }

    @Test("A handler may produce again, and close", arguments: BrokerKind.allCases)
    func handlersCallIn(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        let producer = try broker.producer()
        var reported = 0
        producer.onDelivery = { [unowned producer] opaque, error, _, _ in
            #expect(error == nil)
            reported += 1
            if opaque == 0 {
                #expect(throws: Never.self) {
                    try producer.produce(topic: broker.topic, key: nil, value: [2], opaque: 1)
                }
            } else {
                producer.close()
            }
        }
        try producer.produce(topic: broker.topic, key: nil, value: [1], opaque: 0)
        try producer.flush(timeoutMilliseconds: 30_000)
        producer.close()
        #expect(reported == 2)
        #expect(producer.outstanding == 0)
        #expect(throws: KafkaError.self) { try producer.produce(topic: broker.topic, key: nil, value: [1]) }
    }

    @Test("On an event loop reports come without polling", arguments: BrokerKind.allCases)
    func wokenByDescriptor(kind: BrokerKind) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        let done = eventLoop.makePromise(of: Int.self)
        let owner = try await eventLoop.submit {
            let broker = try TestBroker(kind)
            let producer = try broker.producer()
            var reported = 0
            producer.onDelivery = { [unowned producer] _, error, _, _ in
                #expect(error == nil)
                reported += 1
                // Another round trip after the queue has been empty: a signal of its own.
                if reported < 20 {
                    #expect(throws: Never.self) { try producer.produce(topic: broker.topic, key: nil, value: [1]) }
                } else {
                    done.succeed(reported)
                }
            }
            try producer.start(on: eventLoop)
            try producer.produce(topic: broker.topic, key: nil, value: [1])
            return NIOLoopBound((broker, producer), eventLoop: eventLoop)
        }.get()
        #expect(try await done.futureResult.get() == 20)
        try await eventLoop.submit {
            owner.value.1.close()
            owner.value.0.close()
        }.get()
        try await group.shutdownGracefully()
    }

    @Test("Messages produced while the broker is away are delivered when it is back", arguments: BrokerKind.allCases)
    func outage(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, isOwn: true)
        defer { broker.close() }
        try broker.fill(0..<100)
        let producer = try broker.producer(["enable.idempotence": "true", "reconnect.backoff.max.ms": "200"])
        defer { producer.close() }
        var delivered = 0
        producer.onDelivery = { _, error, _, _ in
            #expect(error == nil)
            delivered += 1
        }
        try producer.produce(topic: broker.topic, key: nil, value: Array("100".utf8))
        try producer.flush(timeoutMilliseconds: 30_000)
        broker.goDown()
        for number in 101..<200 {
            try producer.produce(topic: broker.topic, key: nil, value: Array("\(number)".utf8))
        }
        try broker.comeBack()
        try producer.flush(timeoutMilliseconds: 60_000)
        #expect(delivered == 100)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var received = Received()
        serve(consumer, until: { received.numbers.count >= 200 }, take: { received.take($0) })
        #expect(received.isComplete(200))
    }
}
