import KafkaClient
import PushTopics
import Testing

@testable import SimulatedServers

/// The promises of producers, and of readers outside of groups, on which roles rely: the same tests on the embedded
/// broker and on the simulated clients.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct LogContractServerTests {
    private static let topic = KafkaServer.topic
    private static let place = KafkaServer.place(0)

    /// A producer that has room for two records, and the reports on its records; it is closed by its test.
    private final class Probe {
        let producer: any MessageProducer
        private(set) var reports: [UInt64] = []
        private let broker: EmbeddedBroker?

        init(_ server: KafkaServer) throws {
            if server == .embedded {
                let broker = try EmbeddedBroker(topics: [(LogContractServerTests.topic, 1)])
                let real = try KafkaProducer(properties: [
                    "bootstrap.servers": broker.bootstrapServers, "linger.ms": "50",
                    "queue.buffering.max.messages": "2",
                ])
                producer = real
                self.broker = broker
                real.onDelivery = { [unowned self] number, error, _, _ in
                    #expect(error == nil)
                    reports.append(number)
                }
            } else {
                let collecting = CollectingProducer()
                collecting.room = 2
                producer = collecting
                broker = nil
                collecting.onDelivery = { [unowned self] in reports.append($0) }
            }
        }

        func produce(_ number: UInt64) throws {
            try producer.produce(
                topic: LogContractServerTests.topic,
                partition: 0,
                key: nil,
                value: [UInt8(number)],
                headers: [],
                opaque: number
            )
        }

        /// Polls until so many records were reported on.
        func poll(until count: Int) {
            let deadline = ContinuousClock.now + .seconds(60)
            while reports.count < count, ContinuousClock.now < deadline { producer.poll(timeoutMilliseconds: 20) }
        }

        func close() {
            producer.close(flushMilliseconds: 5000)
            broker?.close()
        }
    }

    @Test("Each record is reported on once, in order, from inside a poll alone", arguments: KafkaServer.allCases)
    func reports(on server: KafkaServer) throws {
        let probe = try Probe(server)
        defer { probe.close() }
        for number in 1...2 as ClosedRange<UInt64> { try probe.produce(number) }
        #expect(probe.reports.isEmpty)
        probe.poll(until: 2)
        probe.producer.poll(timeoutMilliseconds: 0)
        #expect(probe.reports == [1, 2])
    }

    @Test(
        "A producer without room throws, and takes records again once others are reported on",
        arguments: KafkaServer.allCases
    )
    func room(on server: KafkaServer) throws {
        let probe = try Probe(server)
        defer { probe.close() }
        for number in 1...2 as ClosedRange<UInt64> { try probe.produce(number) }
        let error = #expect(throws: KafkaError.self) { try probe.produce(3) }
        #expect(error?.isQueueFull == true)
        probe.poll(until: 2)
        try probe.produce(4)
        probe.poll(until: 3)
        #expect(probe.reports == [1, 2, 4])
    }

    // MARK: Readers

    /// Runs with a reader of a partition with the values 0, 1 and 2.
    private func withReader(of server: KafkaServer, _ body: (any TopicReader) throws -> Void) throws {
        guard server == .embedded else {
            let topic = SimulatedTopic(Self.topic)
            for value in 0...2 as ClosedRange<UInt8> { topic.append([value]) }
            return try body(topic)
        }
        let broker = try EmbeddedBroker(topics: [(Self.topic, 1)])
        defer { broker.close() }
        let properties: KafkaProperties = [
            "bootstrap.servers": broker.bootstrapServers, "fetch.wait.max.ms": "20", "linger.ms": "1",
        ]
        let producer = try KafkaProducer(properties: properties)
        defer { producer.close() }
        for value in 0...2 as ClosedRange<UInt8> {
            try producer.produce(topic: Self.topic, partition: 0, key: [], value: [value])
        }
        try producer.flush(timeoutMilliseconds: 30_000)
        let reader = try KafkaReader(properties: properties)
        defer { reader.close() }
        try body(reader)
    }

    /// Offsets and values of records, until there are so many; the end of a partition is no record.
    private func read(_ reader: any TopicReader, until count: Int) -> [[Int64]] {
        var records: [[Int64]] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while records.count < count, ContinuousClock.now < deadline {
            guard let batch = reader.read(Self.place, max: 10) else { continue }
            for index in 0..<batch.count where batch[index].error == nil {
                records.append([batch[index].offset, batch[index].value.first.map { Int64($0) } ?? -1])
            }
        }
        return records
    }

    @Test(
        "A partition is read from where it is begun, again and again, until it is stopped",
        arguments: KafkaServer.allCases
    )
    func reads(on server: KafkaServer) throws {
        try withReader(of: server) { reader in
            #expect(reader.read(Self.place, max: 10) == nil, "nothing has begun")
            try reader.begin(Self.place, at: 1)
            #expect(read(reader, until: 2) == [[1, 1], [2, 2]])
            try reader.begin(Self.place, at: 0)
            #expect(read(reader, until: 3) == [[0, 0], [1, 1], [2, 2]])
            reader.stop(Self.place)
            #expect(reader.read(Self.place, max: 10) == nil)
        }
    }

    @Test("The watermarks of a reader are the first offset and the next one", arguments: KafkaServer.allCases)
    func watermarks(on server: KafkaServer) throws {
        try withReader(of: server) { reader in
            let watermarks = try reader.watermarks(of: [Self.place], timeoutMilliseconds: 30_000)
            #expect(watermarks.map(\.low) == [0] && watermarks.map(\.high) == [3])
        }
    }
}
