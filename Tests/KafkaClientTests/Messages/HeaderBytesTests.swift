import CRdKafka
import Testing

@testable import KafkaClient

@Suite("Bytes of a message's headers")
struct HeaderBytesTests {
    private static let headers: [(name: String, value: [UInt8])] = [
        ("traceparent", Array(repeating: 7, count: 5000)), ("empty", []), ("traceparent", [1]),
    ]
    private static let bytes = 2 * 11 + 5001 + 5

    private static func record(_ headers: [(name: String, value: [UInt8])]) -> KafkaRecord {
        KafkaRecord(topic: "t", partition: 0, offset: 0, key: [1], value: [2, 3], headers: headers)
    }

    @Test("Names and values count, in memory as from a broker, and once more for their list in memory")
    func counted() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let producer = try broker.producer()
        for headers in [Self.headers, []] {
            let headers = headers.map { ($0.name, $0.value) }
            try producer.produce(topic: broker.topic, key: [1], value: [2, 3], headers: headers)
        }
        try producer.flush(timeoutMilliseconds: 30_000)
        producer.close()
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var found: [[Int?]] = []
        let take = { (batch: KafkaBatch) in
            for index in 0..<batch.count {
                let message = batch[index]
                let copy = batch.copy(of: index)
                found.append([message.headerBytes, message.recordBytes, message.memoryBytes])
                found.append([copy[0].headerBytes, copy[0].recordBytes, copy[0].memoryBytes])
            }
        }
        serve(consumer, until: { found.count >= 4 }, take: take)
        #expect(found.count == 4)
        let memory = KafkaBatch([Self.record(Self.headers), Self.record([])])
        let expected = (0..<2).map { [memory[$0].headerBytes, memory[$0].recordBytes, memory[$0].memoryBytes] }
        #expect(found == [expected[0], expected[0], expected[1], expected[1]])
        #expect(expected[0][0] == Self.bytes && expected[0][1] == Self.bytes + 3)
        #expect(expected[1][0] == 0 && expected[1][1] == 3)
        let difference = (expected[0][2] ?? 0) - (expected[1][2] ?? 0)
        #expect(difference >= 2 * Self.bytes, "the broker's answer, and the list")
    }

    @Test(
        "Headers too many to be read count as much as a record may have, and are not handed out",
        arguments: [8191, 8192]
    )
    func many(count: Int) throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let producer = try broker.producer()
        defer { producer.close() }
        let headers = Array(repeating: ("", [UInt8]()), count: count)
        try producer.produce(topic: broker.topic, key: [1], value: [2, 3], headers: headers)
        try producer.flush(timeoutMilliseconds: 30_000)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        var found: [(bytes: Int?, memory: Int, hasHeader: Bool)] = []
        let take = { (batch: KafkaBatch) in
            for index in 0..<batch.count {
                let message = batch[index]
                found.append((message.headerBytes, message.memoryBytes, message.header("") != nil))
            }
        }
        serve(consumer, until: { !found.isEmpty }, take: take)
        #expect(found.count == 1)
        for message in found {
            #expect(message.bytes == (count < 8192 ? 0 : nil) && message.hasHeader == (count < 8192))
            #expect(message.memory > (count < 8192 ? 50 * count : 1 << 20))
        }
    }
}
