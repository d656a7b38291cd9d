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
}
