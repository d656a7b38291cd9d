import CRdKafka
import Testing

@testable import KafkaClient

@Suite struct KafkaRecordTests {
    @Test("A batch in memory reads like one of a broker: absent is not empty, the last of two headers counts")
    func reading() {
        let batch = KafkaBatch([
            KafkaRecord(
                topic: "requests",
                partition: 3,
                offset: 17,
                key: Array("key".utf8),
                value: Array("value".utf8),
                headers: [("a", [1]), ("b", []), ("a", [2, 3])]
            ),
            KafkaRecord(topic: "other", partition: 0, offset: 18, key: [], value: nil),
        ])
        #expect(batch.count == 2)
        let first = batch[0]
        #expect(first.topic == "requests")
        #expect(first.partition == 3 && first.offset == 17 && !first.isError)
        #expect(Array(first.key) == Array("key".utf8) && Array(first.value) == Array("value".utf8))
        #expect(first.header("a").map { Array($0) } == [2, 3])
        #expect(first.header("b")?.count == 0)
        #expect(first.header("c") == nil)
        #expect(first.timestampMilliseconds == nil)
        var names: [String] = []
        first.forEachHeader { name, _ in names.append(name) }
        #expect(names == ["a", "b", "a"])
        let second = batch[1]
        #expect(second.topic == "other")
        #expect(second.key.baseAddress != nil && second.key.count == 0)
        #expect(second.value.baseAddress == nil)
        batch.release()
        #expect(batch.count == 0)
    }

    /// All that a view tells; nil where there is no address.
    private struct Told: Equatable {
        var topic: String
        var place: [Int64]
        var key: [UInt8]?
        var value: [UInt8]?
        var timestamp: Int64?
        var headers: [Header] = []
        var lastHeaders: [[UInt8]?] = []

        struct Header: Equatable {
            var name: String
            var value: [UInt8]?
        }

        init(_ view: KafkaMessageView) {
            topic = view.topic
            place = [Int64(view.partition), view.offset, view.isError ? 1 : 0]
            key = Self.bytes(view.key)
            value = Self.bytes(view.value)
            timestamp = view.timestampMilliseconds
            view.forEachHeader { headers.append(Header(name: $0, value: Self.bytes($1))) }
            lastHeaders = ["twice", "empty", "absent", "none"].map { view.header($0).flatMap(Self.bytes) }
        }

        private static func bytes(_ buffer: UnsafeRawBufferPointer) -> [UInt8]? {
            buffer.baseAddress == nil ? nil : Array(buffer)
        }
    }

    @Test("A copy of one message tells all that the message told, after that is gone", arguments: BrokerKind.allCases)
    func copyOfBrokers(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 2)
        defer { broker.close() }
        try produceAllShapes(to: broker)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var originals: [Told] = []
        var copies: [KafkaBatch] = []
        let take = { (batch: KafkaBatch) in
            for index in 0..<batch.count {
                originals.append(Told(batch[index]))
                copies.append(batch.copy(of: index))
            }
            batch.release()
        }
        serve(consumer, until: { originals.count >= 3 }, take: take)
        #expect(copies.map(\.count) == [1, 1, 1])
        #expect(copies.map { Told($0[0]) } == originals)
        // The shapes are those that were meant.
        #expect(originals.map(\.key) == [nil, [1, 0, 2], []])
        #expect(originals.map(\.value) == [[], nil, [7]])
        #expect(originals[0].headers.map(\.name) == ["twice", "absent", "empty", "twice"])
        #expect(originals[0].headers.map(\.value?.first) == [1, nil, nil, 2])
        #expect(originals.allSatisfy { $0.timestamp != nil && $0.place[0] == 1 })
    }

    @Test("A copy of a message in memory is its twin too: without a time stamp, and of one message among others")
    func copyOfMemory() {
        let batch = KafkaBatch([
            KafkaRecord(topic: "a", partition: 0, offset: 1, key: nil, value: []),
            KafkaRecord(
                topic: "b",
                partition: 2,
                offset: 3,
                key: [],
                value: nil,
                headers: [("empty", []), ("twice", [4])]
            ),
            KafkaRecord(topic: "c", partition: 4, offset: 5, key: [6], value: [7], timestampMilliseconds: 8),
        ])
        let originals = (0..<3).map { Told(batch[$0]) }
        let copies = (0..<3).map { batch.copy(of: $0) }
        batch.release()
        #expect(copies.map { Told($0[0]) } == originals)
        #expect(originals.map(\.timestamp) == [nil, nil, 8])
        let again = copies[1].copy(of: 0)
        withExtendedLifetime(again) { #expect(Told(again[0]) == originals[1]) }
        withExtendedLifetime(copies) {}
    }

    /// By librdkafka itself: our producer gives every header a value.
    private func produceAllShapes(to broker: TestBroker) throws {
        let producer = try broker.producer()
        defer { producer.close() }
        let client = try #require(producer.handle?.pointer)
        let topic = try #require(rd_kafka_topic_new(client, broker.topic, nil))
        defer { rd_kafka_topic_destroy(topic) }
        let bytes: [UInt8] = [1, 0, 2, 7]
        bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress!
            let headers = rd_kafka_headers_new(4)
            rd_kafka_header_add(headers, "twice", -1, start, 1)
            rd_kafka_header_add(headers, "absent", -1, nil, 0)
            rd_kafka_header_add(headers, "empty", -1, start, 0)
            rd_kafka_header_add(headers, "twice", -1, start + 2, 1)
            let codes = [
                belfry_rd_kafka_produce(client, topic, 1, nil, 0, start, 0, headers, nil),
                belfry_rd_kafka_produce(client, topic, 1, start, 3, nil, 0, nil, nil),
                belfry_rd_kafka_produce(client, topic, 1, start, 0, start + 3, 1, nil, nil),
            ]
            #expect(codes.allSatisfy { $0 == RD_KAFKA_RESP_ERR_NO_ERROR })
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }
}
