import TestSupport
import Testing

@testable import KafkaClient

@Suite("Consumer", .serialized, .timeLimit(.minutes(2)))
struct KafkaConsumerTests {
    @Test("Everything produced is consumed once, and within a partition in order", arguments: BrokerKind.allCases)
    func consumesAll(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 3)
        defer { broker.close() }
        try broker.fill(0..<5000)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var received = Received()
        let take = { (batch: KafkaBatch) in
            #expect(batch.count <= 64)
            received.take(batch)
        }
        serve(consumer, max: 64, until: { received.numbers.count >= 5000 }, take: take)
        #expect(received.isComplete(5000))
        #expect(received.errors.isEmpty)
        for (_, offsets) in received.offsets { #expect(offsets == (0..<Int64(offsets.count)).map { $0 }) }
        #expect(consumer.assignedPartitions == broker.places)
    }

    @Test("Key, value, headers and time stamp arrive as they were given", arguments: BrokerKind.allCases)
    func roundTrip(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        let producer = try broker.producer()
        defer { producer.close() }
        let binary: [UInt8] = [0, 255, 0, 1]
        try producer.produce(
            topic: broker.topic,
            key: Array("key".utf8),
            value: binary,
            headers: [("twice", [1]), ("empty", []), ("twice", [2, 0, 3])]
        )
        try producer.produce(topic: broker.topic, key: nil, value: nil)
        try producer.produce(topic: broker.topic, key: [], value: [])
        try producer.produce(topic: broker.topic, key: Array("key".utf8), value: binary)
        try producer.flush(timeoutMilliseconds: 30_000)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var seen = 0
        let take = { (batch: KafkaBatch) in
            for index in 0..<batch.count {
                let message = batch[index]
                #expect(message.error == nil)
                #expect(message.topic == broker.topic)
                #expect(message.timestampMilliseconds.map { $0 > 1_600_000_000_000 } == true)
                switch message.offset {
                case 0:
                    #expect(Array(message.key) == Array("key".utf8))
                    #expect(Array(message.value) == binary)
                    #expect(message.header("twice").map(Array.init) == [2, 0, 3])
                    #expect(message.header("empty")?.isEmpty == true)
                    #expect(message.header("none") == nil)
                    var all: [String] = []
                    message.forEachHeader { name, value in all.append("\(name)=\(Array(value))") }
                    #expect(all == ["twice=[1]", "empty=[]", "twice=[2, 0, 3]"])
                case 1:
                    #expect(message.key.baseAddress == nil)
                    #expect(message.value.baseAddress == nil)
                    #expect(message.header("any") == nil)
                case 2:
                    #expect(message.key.baseAddress != nil && message.key.isEmpty)
                    #expect(message.value.baseAddress != nil && message.value.isEmpty)
                    #expect(message.header("any") == nil)
                default:
                    #expect(Array(message.key) == Array("key".utf8) && Array(message.value) == binary)
                    #expect(message.header("any") == nil)
                }
                #expect(RecordLayout.hasNoHeaders(key: message.key, value: message.value) == (message.offset == 3))
                seen += 1
            }
        }
        serve(consumer, until: { seen >= 4 }, take: take)
        #expect(seen == 4)
    }

    @Test("A batch can be read after its consumer was closed", arguments: BrokerKind.allCases)
    func batchOutlivesConsumer(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<100)
        let consumer = try broker.consumer()
        var kept: [KafkaBatch] = []
        serve(consumer, until: { kept.reduce(0) { $0 + $1.count } >= 100 }, take: { kept.append($0) })
        #expect(consumer.close())
        var received = Received()
        for batch in kept { received.take(batch) }
        #expect(received.isComplete(100))
        for batch in kept {
            batch.release()
            batch.release()
            #expect(batch.count == 0)
        }
    }

    @Test("The same messages come through the closure as through batches")
    func closureForm() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        try broker.fill(0..<300)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var received = Received()
        let deadline = ContinuousClock.now.advanced(by: patience)
        var counted = 0
        while counted < 300, ContinuousClock.now < deadline {
            counted += consumer.consumeBatch(max: 50) { received.take($0) }
        }
        #expect(counted == 300)
        #expect(received.isComplete(300))
    }

    @Test(
        "Pausing and resuming in the middle of batches loses nothing and keeps the order",
        arguments: BrokerKind.allCases
    )
    func pauseLosesNothing(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 4)
        defer { broker.close() }
        try broker.fill(0..<1600)
        let consumer = try broker.consumer(["queued.min.messages": "100"])
        defer { consumer.close() }
        var next: [Int32: Int64] = [:]
        var repeated = 0
        var random = SeededGenerator(seed: 7)
        var batches = 0
        let take = { (batch: KafkaBatch) in
            for index in 0..<batch.count {
                let message = batch[index]
                let expected = next[message.partition] ?? 0
                #expect(message.offset <= expected, "skipped")
                if message.offset < expected { repeated += 1 } else { next[message.partition] = message.offset + 1 }
            }
            batches += 1
            let place = broker.places[Int(random.next() % 4)]
            #expect(throws: Never.self) {
                try consumer.pause([place])
                // Sometimes at once, while librdkafka's own thread is at it; sometimes when others have moved on.
                if random.next().isMultiple(of: 2) { try consumer.resume([place]) }
                if batches.isMultiple(of: 4) { try consumer.resume(broker.places) }
            }
        }
        let idle: () -> Void = { #expect(throws: Never.self) { try consumer.resume(broker.places) } }
        serve(consumer, max: 37, until: { next.values.reduce(0, +) >= 1600 }, take: take, idle: idle)
        #expect(repeated == 0)
        #expect(next.values.reduce(0, +) == 1600)
    }

    @Test(
        "While everything is paused nothing is returned, and it goes on where it stopped",
        arguments: BrokerKind.allCases
    )
    func pausedIsSilent(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<200)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var received = Received()
        serve(consumer, max: 10, until: { received.numbers.count >= 50 }, take: { received.take($0) })
        try consumer.pause(broker.places)
        let before = received.numbers.count
        for _ in 0..<20 {
            if let batch = consumer.consumeBatch(max: 10, timeoutMilliseconds: 5) { received.take(batch) }
        }
        #expect(received.numbers.count == before)
        try consumer.resume(broker.places)
        serve(consumer, until: { received.numbers.count >= 200 }, take: { received.take($0) })
        #expect(received.numbers == Array(0..<200))
    }

    @Test(
        "A start that is out of range stands in place of messages; a seek goes on, and disturbs no other partition",
        arguments: BrokerKind.allCases,
        [Strategy.eager, .cooperative]
    )
    func outOfRange(kind: BrokerKind, strategy: Strategy) throws {
        let broker = try TestBroker(kind, partitions: 3)
        defer { broker.close() }
        for partition in 0..<3 as Range<Int32> { try broker.fill(0..<10, partition: partition) }
        let consumer = try broker.consumer(strategy.properties.merging(["auto.offset.reset": "error"]))
        defer { consumer.close() }
        consumer.onAssigned = { [unowned consumer] partitions in
            #expect(throws: Never.self) {
                try consumer.completeAssign([
                    KafkaPartitionOffset(partitions[0], offset: 5000),
                    KafkaPartitionOffset(partitions[1], offset: 4),
                    KafkaPartitionOffset(partitions[2], offset: KafkaOffset.end),
                ])
            }
        }
        var received = Received()
        serve(consumer, until: { !received.errors.isEmpty && received.numbers.count >= 6 }, take: { received.take($0) })
        #expect(received.numbers == Array(4..<10))
        #expect(received.errors.first?.isOffsetOutOfRange == true)
        #expect(received.errors.first?.message.contains("\(broker.topic)[0]") == true)
        try consumer.pause([broker.places[1]])
        let low = try consumer.watermarks(of: broker.places[0], timeoutMilliseconds: 10_000).low
        try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(broker.places[0], offset: low)])
        try broker.fill(10..<12, partition: 1)
        serve(consumer, until: { received.numbers.count >= 16 }, take: { received.take($0) })
        #expect(received.offsets[0] == Array(0..<10))
        #expect(received.offsets[1] == Array(4..<10))
        try consumer.resume([broker.places[1]])
        serve(consumer, until: { received.numbers.count >= 18 }, take: { received.take($0) })
        #expect(received.offsets[1] == Array(4..<12))
        #expect(received.offsets[2] == nil)
    }

    @Test(
        "A seek without waiting moves a partition that runs: nothing that was fetched before comes after it",
        arguments: BrokerKind.allCases,
        [Strategy.eager, .cooperative]
    )
    func seekWithoutWaiting(kind: BrokerKind, strategy: Strategy) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<100)
        let consumer = try broker.consumer(strategy.properties)
        defer { consumer.close() }
        var received = Received()
        serve(consumer, max: 10, until: { received.numbers.count >= 10 }, take: { received.take($0) })
        // The last two without a message in between: the later one counts.
        for targets in [[50], [5], [90, 20]] as [[Int64]] {
            for target in targets {
                try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(broker.places[0], offset: target)])
            }
            received = Received()
            serve(consumer, max: 10, until: { !received.numbers.isEmpty }, take: { received.take($0) })
            let last = try #require(targets.last)
            #expect(received.numbers.first == Int(last))
        }
        try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(broker.places[0], offset: KafkaOffset.beginning)])
        received = Received()
        serve(consumer, until: { received.numbers.count >= 100 }, take: { received.take($0) })
        #expect(received.numbers == Array(0..<100))
        let stranger = KafkaPartitionOffset(topic: broker.topic, partition: 77, offset: 0)
        #expect(throws: KafkaError.self) { try consumer.seekWithoutWaiting(to: [stranger]) }
    }

    @Test(
        "A seek without waiting is not lost in a partition that has not begun or was stopped, and no other jumps back",
        arguments: BrokerKind.allCases,
        [Strategy.eager, .cooperative]
    )
    func seekIsNotLost(kind: BrokerKind, strategy: Strategy) throws {
        let broker = try TestBroker(kind, partitions: 2)
        defer { broker.close() }
        for partition in 0..<2 as Range<Int32> { try broker.fill(0..<20, partition: partition) }
        let consumer = try broker.consumer(strategy.properties.merging(["auto.offset.reset": "error"]))
        defer { consumer.close() }
        consumer.onAssigned = { [unowned consumer] partitions in
            #expect(throws: Never.self) {
                // Nothing is committed, so both would stop with an error.
                try consumer.completeAssign()
                try consumer.seekWithoutWaiting(to: [
                    KafkaPartitionOffset(partitions[0], offset: 3), KafkaPartitionOffset(partitions[1], offset: 5000),
                ])
            }
        }
        var received = Received()
        // Not any error: if the broker is quick, the missing positions are told, too, and the one of 5000 comes later.
        // Found beside a restart, it would stop the partition behind that.
        serve(
            consumer,
            until: { received.errorOffsets[1]?.contains(5000) == true && received.numbers.count >= 17 },
            take: { received.take($0) }
        )
        #expect(received.offsets == [0: Array(3..<20)])
        #expect(received.errors.allSatisfy { $0.isOffsetOutOfRange })
        // The first one runs, the second is stopped; where the first was sent holds though nothing of it came yet.
        try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(broker.places[0], offset: 15)])
        try consumer.seekWithoutWaiting(to: [KafkaPartitionOffset(broker.places[1], offset: 18)])
        received = Received()
        serve(consumer, until: { received.numbers.count >= 7 }, take: { received.take($0) })
        #expect(received.offsets == [0: Array(15..<20), 1: [18, 19]])
    }

    @Test(
        "Without a committed position and a reset there is an error rather than a silent start",
        arguments: BrokerKind.allCases
    )
    func noPosition(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<10)
        let consumer = try broker.consumer(["auto.offset.reset": "error"])
        defer { consumer.close() }
        var received = Received()
        serve(consumer, until: { !received.errors.isEmpty }, take: { received.take($0) })
        #expect(received.numbers.isEmpty)
        #expect(received.errors.first?.isOffsetOutOfRange == true)
    }

    @Test("The end of a partition is an event, not a failure", arguments: BrokerKind.allCases)
    func partitionEnd(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<10)
        let consumer = try broker.consumer(["enable.partition.eof": "true"])
        defer { consumer.close() }
        var received = Received()
        serve(consumer, until: { !received.errors.isEmpty }, take: { received.take($0) })
        #expect(received.numbers == Array(0..<10))
        #expect(received.errors.first?.isPartitionEnd == true)
        #expect(consumer.cachedWatermarks(broker.places[0]) == (try watermarks(of: broker)))
        #expect(try consumer.positions(broker.places).first?.offset == 10)
    }

    private func watermarks(of broker: TestBroker) throws -> KafkaWatermarks {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        return try admin.watermarks(of: broker.places[0], timeoutMilliseconds: 10_000)
    }

    @Test("Trouble with the brokers and the log are told on the owner's thread")
    func troubleIsTold() throws {
        let consumer = try KafkaConsumer(
            properties: ["bootstrap.servers": unreachableBroker],
            group: "g",
            topics: ["t"]
        )
        var errors: [KafkaError] = []
        var lines: [KafkaLogLine] = []
        consumer.onError = { errors.append($0) }
        consumer.onLog = { lines.append($0) }
        serve(consumer, until: { !errors.isEmpty && !lines.isEmpty })
        #expect(errors.contains { $0.message.contains(unreachableBroker) })
        #expect(lines.contains { $0.message.contains(unreachableBroker) && !$0.facility.isEmpty })
        consumer.close()
    }
}
