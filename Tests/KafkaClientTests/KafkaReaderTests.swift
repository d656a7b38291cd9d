import KafkaClient
import Testing

@Suite("Reader", .serialized, .timeLimit(.minutes(2)))
struct KafkaReaderTests {
    private static let limit = Duration.seconds(60)

    /// Reads until there are so many messages, or until the partition's end.
    private func read(
        _ reader: KafkaReader,
        _ place: KafkaTopicPartition,
        count: Int = .max
    ) -> (offsets: [Int64], end: Int64?) {
        var offsets: [Int64] = []
        let deadline = ContinuousClock.now + Self.limit
        while offsets.count < count, ContinuousClock.now < deadline {
            guard let batch = reader.read(place, max: 100) else { continue }
            for index in 0..<batch.count {
                guard let error = batch[index].error else {
                    offsets.append(batch[index].offset)
                    continue
                }
                #expect(error.isPartitionEnd)
                if count == .max { return (offsets, batch[index].offset) }
            }
        }
        return (offsets, nil)
    }

    @Test("A partition is read from any offset, again and again", arguments: BrokerKind.allCases)
    func begins(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 2)
        defer { broker.close() }
        try broker.fill(0..<3000, partition: 1)
        let reader = try KafkaReader(properties: [
            "bootstrap.servers": broker.bootstrapServers, "fetch.wait.max.ms": "20",
        ])
        defer { reader.close() }
        let place = broker.places[1]
        #expect(reader.read(place, max: 10) == nil, "nothing has begun")
        for start in [0, 1700, 20] as [Int64] {
            try reader.begin(place, at: start)
            let (offsets, _) = read(reader, place, count: 3000 - Int(start))
            #expect(offsets == Array(start..<3000), "nothing of the reading before")
        }
        try reader.begin(place, at: 2990)
        try broker.fill(0..<10, partition: 1)
        #expect(read(reader, place, count: 20).offsets == Array(2990..<3010))
        try reader.begin(broker.places[0], at: 0)
        #expect(reader.reading == broker.places)
        reader.stop(place)
        #expect(reader.reading == [broker.places[0]])
        #expect(reader.read(place, max: 10) == nil)
    }

    @Test("The end of a partition is told with the offset that comes next", arguments: BrokerKind.allCases)
    func end(kind: BrokerKind) throws {
        let broker = try TestBroker(kind)
        defer { broker.close() }
        try broker.fill(0..<5)
        let reader = try KafkaReader(properties: [
            "bootstrap.servers": broker.bootstrapServers, "fetch.wait.max.ms": "20",
        ])
        defer { reader.close() }
        try reader.begin(broker.places[0], at: 3)
        let (offsets, end) = read(reader, broker.places[0])
        #expect(offsets == [3, 4])
        #expect(end == 5)
    }

    @Test("Several partitions are asked about at once and answered in their order", arguments: BrokerKind.allCases)
    func watermarksOfMany(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 3)
        defer { broker.close() }
        try broker.fill(0..<1, partition: 0)
        try broker.fill(0..<3, partition: 2)
        let reader = try KafkaReader(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { reader.close() }
        let places = [2, 0, 1].map { broker.places[$0] }
        let marks = try reader.watermarks(of: places, timeoutMilliseconds: 30_000)
        #expect(marks.map(\.low) == [0, 0, 0])
        #expect(marks.map(\.high) == [3, 1, 0])
        #expect(throws: KafkaError.self) {
            let nowhere = KafkaTopicPartition(topic: broker.topic, partition: 3)
            return try reader.watermarks(of: [broker.places[0], nowhere], timeoutMilliseconds: 10_000)
        }
    }

    @Test("A broker that went away is not waited for beyond the time-out", arguments: BrokerKind.allCases)
    func watermarksOfNobody(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, isOwn: true)
        defer { broker.close() }
        try broker.fill(0..<5)
        let reader = try KafkaReader(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { reader.close() }
        #expect(try reader.watermarks(of: [broker.places[0]], timeoutMilliseconds: 30_000).map(\.high) == [5])
        broker.goDown()
        // It knows the leader, which does not answer.
        #expect(throws: KafkaError.self) { try reader.watermarks(of: [broker.places[0]], timeoutMilliseconds: 500) }
        try broker.comeBack()
        let deadline = ContinuousClock.now + Self.limit
        var marks: KafkaWatermarks?
        while marks == nil, ContinuousClock.now < deadline {
            marks = try? reader.watermarks(of: [broker.places[0]], timeoutMilliseconds: 5_000)[0]
        }
        #expect(marks?.low == 0 && marks?.high == 5)
    }

    @Test("Lines of the log and errors are handed on when a reader is closed that has read nothing")
    func log() throws {
        let old = "reconnect.backoff.jitter.ms"
        let reader = try KafkaReader(properties: ["bootstrap.servers": unreachableBroker, old: "5"])
        var lines: [KafkaLogLine] = []
        var errors: [KafkaError] = []
        reader.onLog = { lines.append($0) }
        reader.onError = { errors.append($0) }
        let place = KafkaTopicPartition(topic: "t", partition: 0)
        #expect(throws: KafkaError.self) { try reader.watermarks(of: [place], timeoutMilliseconds: 500) }
        #expect(lines.isEmpty && errors.isEmpty)
        reader.close()
        #expect(lines.contains { $0.facility == "CONFWARN" && $0.level == 4 && $0.message.contains(old) })
        #expect(lines.contains { $0.facility == "FAIL" && $0.message.contains("refused") })
        #expect(errors.contains { $0.message.contains(unreachableBroker) })
    }
}
