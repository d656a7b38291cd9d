import KafkaClient
import Testing

@Suite("Topic reader", .serialized, .timeLimit(.minutes(2)))
struct KafkaTopicReaderTests {
    private func reader(_ broker: TestBroker, _ start: KafkaTopicReader.Start) throws -> KafkaTopicReader {
        try KafkaTopicReader(
            properties: ["bootstrap.servers": broker.bootstrapServers, "fetch.wait.max.ms": "20"],
            topic: broker.topic,
            from: start,
            timeoutMilliseconds: 30_000
        )
    }

    /// Reads until there are so many messages.
    private func read(_ reader: KafkaTopicReader, count: Int) -> Received {
        var received = Received()
        let deadline = ContinuousClock.now + patience
        while received.numbers.count < count, ContinuousClock.now < deadline {
            if let batch = reader.read(max: 100, timeoutMilliseconds: 20) { received.take(batch) }
        }
        return received
    }

    @Test(
        "From the beginning every message of every partition is read once, each partition in order",
        arguments: BrokerKind.allCases
    )
    func beginning(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 3)
        defer { broker.close() }
        try broker.fill(0..<1000)
        let reader = try reader(broker, .beginning)
        defer { reader.close() }
        let received = read(reader, count: 1000)
        #expect(received.isComplete(1000) && received.errors.isEmpty)
        for offsets in received.offsets.values { #expect(offsets == Array(0..<Int64(offsets.count))) }
        #expect(reader.read(max: 100) == nil)
    }

    @Test("From the end nothing is read but what came after the reader was made", arguments: BrokerKind.allCases)
    func end(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 3)
        defer { broker.close() }
        try broker.fill(0..<100)
        let reader = try reader(broker, .end)
        defer { reader.close() }
        // At once: nothing has been fetched yet.
        try broker.fill(100..<200)
        #expect(read(reader, count: 100).numbers.sorted() == Array(100..<200))
    }

    @Test("A broker that comes back is read on where it went away", arguments: BrokerKind.allCases)
    func away(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, isOwn: true)
        defer { broker.close() }
        try broker.fill(0..<10)
        let reader = try reader(broker, .beginning)
        defer { reader.close() }
        #expect(read(reader, count: 10).numbers == Array(0..<10))
        broker.goDown()
        #expect(reader.read(max: 1) == nil)
        try broker.comeBack()
        try broker.fill(10..<20)
        #expect(read(reader, count: 10).numbers == Array(10..<20))
    }

    @Test("Lines of the log are handed on by a reader that finds no broker, and by one that reads and is closed")
    func log() throws {
        var lines: [KafkaLogLine] = []
        #expect(throws: KafkaError.self) {
            try KafkaTopicReader(
                properties: ["bootstrap.servers": unreachableBroker],
                topic: "t",
                from: .end,
                timeoutMilliseconds: 500,
                onLog: { lines.append($0) }
            ).close()
        }
        #expect(lines.contains { $0.facility == "FAIL" && $0.message.contains("refused") })
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        // Of no use any more, says librdkafka when a client is made.
        let old = "reconnect.backoff.jitter.ms"
        func warnings(isRead: Bool) throws -> Int {
            lines = []
            let reader = try KafkaTopicReader(
                properties: ["bootstrap.servers": broker.bootstrapServers, old: "5"],
                topic: broker.topic,
                from: .beginning,
                timeoutMilliseconds: 30_000,
                onLog: { lines.append($0) }
            )
            if isRead { #expect(reader.read(max: 1) == nil) }
            reader.close()
            return lines.count { $0.facility == "CONFWARN" && $0.level == 4 && $0.message.contains(old) }
        }
        // One of the client that asks for the partitions, one of the reader itself.
        #expect(try warnings(isRead: true) == 2)
        #expect(try warnings(isRead: false) == 2)
    }

    @Test("A topic that does not exist is told; a closed reader reads nothing, and its batches stay")
    func edges() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let error = #expect(throws: KafkaError.self) {
            try KafkaTopicReader(
                properties: ["bootstrap.servers": broker.bootstrapServers],
                topic: "nowhere",
                from: .end,
                timeoutMilliseconds: 30_000
            ).close()
        }
        #expect(error?.isUnknownTopicOrPartition == true)
        try broker.fill(0..<5)
        let reader = try reader(broker, .beginning)
        var kept: [KafkaBatch] = []
        let deadline = ContinuousClock.now + patience
        while kept.reduce(0, { $0 + $1.count }) < 5, ContinuousClock.now < deadline {
            if let batch = reader.read(max: 100, timeoutMilliseconds: 20) { kept.append(batch) }
        }
        reader.close()
        reader.close()
        #expect(reader.read(max: 100) == nil)
        var received = Received()
        for batch in kept { received.take(batch) }
        #expect(received.numbers == Array(0..<5))
    }
}
