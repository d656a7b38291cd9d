import Testing

@testable import KafkaClient

@Suite("Properties")
struct KafkaPropertiesTests {
    @Test("A later value replaces an earlier one and stands in its own place")
    func laterWins() {
        var properties: KafkaProperties = ["a": "1", "b": "2"]
        properties["a"] = "3"
        #expect(properties.all.map(\.name) == ["b", "a"])
        #expect(properties["a"] == "3")
        #expect(properties.merging(["b": "4"])["b"] == "4")
        properties["b"] = nil
        #expect(properties.all.map(\.name) == ["a"])
    }

    @Test("A property that librdkafka does not know is named by the error")
    func unknown() {
        let error = #expect(throws: KafkaError.self) {
            try KafkaProducer(properties: ["bootstrap.servers": unreachableBroker, "no.such.thing": "1"])
        }
        #expect(error?.isConfiguration == true)
        #expect(error?.message.contains("no.such.thing") == true)
    }

    @Test("A value that is not allowed is reported with its property, but never itself: it may be a password")
    func badValue() {
        let bad: KafkaProperties = ["bootstrap.servers": unreachableBroker, "session.timeout.ms": "soon"]
        let makers: [() throws -> Void] = [
            { _ = try KafkaConsumer(properties: bad, group: "g", topics: ["t"]) },
            { _ = try KafkaProducer(properties: bad) },
            { _ = try KafkaAdmin(properties: bad) },
        ]
        for make in makers {
            let error = #expect(throws: KafkaError.self, performing: make)
            #expect(error?.isConfiguration == true)
            #expect(error?.message.contains("session.timeout.ms") == true)
            #expect(error?.message.contains("soon") == false)
        }
    }

    @Test("Properties that contradict each other are refused with librdkafka's reason")
    func contradiction() {
        let error = #expect(throws: KafkaError.self) {
            try KafkaProducer(
                properties: ["bootstrap.servers": unreachableBroker, "enable.idempotence": "true", "acks": "1"]
            )
        }
        #expect(error?.isConfiguration == true)
        #expect(error?.message.contains("acks") == true)
    }

    @Test("What the caller sets replaces what the wrapper sets")
    func overridden() {
        // The wrapper's own value is a good one.
        let error = #expect(throws: KafkaError.self) {
            try KafkaProducer(properties: ["bootstrap.servers": unreachableBroker, "partitioner": "none of these"])
        }
        #expect(error?.isConfiguration == true)
        #expect(error?.message.contains("partitioner") == true)
    }
}

@Suite("Assignment")
struct KafkaAssignmentTests {
    static let first = KafkaPartitionOffset(topic: "a", partition: 0, offset: 3)
    static let second = KafkaPartitionOffset(topic: "a", partition: 1, offset: 4)

    @Test("Only what is assigned is contained, and an answer is not remembered beyond a change")
    func contains() {
        var assignment = KafkaAssignment()
        func has(_ position: KafkaPartitionOffset) -> Bool {
            assignment.contains(topicAddress: 16, partition: position.partition, offset: 7) { position.topic }
        }
        #expect(!has(Self.first))
        assignment.add([Self.first])
        #expect(has(Self.first))
        #expect(!has(Self.second))
        assignment.add([Self.second])
        #expect(has(Self.first) && has(Self.second))
        assignment.remove([Self.first.place])
        #expect(!has(Self.first) && has(Self.second))
        assignment.replace(by: [Self.first])
        #expect(has(Self.first) && !has(Self.second))
    }

    @Test("An address that names another topic after a change is not taken for the old one")
    func reusedAddress() {
        var assignment = KafkaAssignment()
        assignment.replace(by: [Self.first])
        let before = assignment.contains(topicAddress: 16, partition: 0, offset: 7) { "a" }
        assignment.replace(by: [Self.second])
        let after = assignment.contains(topicAddress: 16, partition: 0, offset: 7) { "b" }
        #expect(before && !after)
    }

    @Test("Pausing twice and resuming what runs change nothing; a partition that comes back is not paused")
    func pauses() {
        var assignment = KafkaAssignment()
        let both = [Self.first.place, Self.second.place]
        assignment.add([Self.first, Self.second])
        #expect(assignment.resume(both).isEmpty)
        #expect(assignment.pause([Self.first.place]) == [Self.first.place])
        #expect(assignment.pause(both) == [Self.second.place])
        #expect(assignment.resume(both) == both)
        _ = assignment.pause(both)
        assignment.remove([Self.first.place])
        #expect(assignment.paused == [Self.second.place])
        assignment.replace(by: [Self.second])
        #expect(assignment.paused.isEmpty)
    }

    /// The upper watermark of ``first``, of which the broker says 10.
    private func readableEnd(_ assignment: KafkaAssignment, low: Int64 = 0) -> Int64 {
        assignment.readable(KafkaWatermarks(low: low, high: 10), of: Self.first.place).high
    }

    @Test("At its end a partition is as long as its last record, until it grows")
    func readable() {
        var assignment = KafkaAssignment()
        assignment.add([Self.first, Self.second])
        #expect(readableEnd(assignment) == 10)
        func take(_ offset: Int64, partition: Int32 = 0) {
            #expect(assignment.contains(topicAddress: 16, partition: partition, offset: offset) { "a" })
        }
        take(6)
        take(7)
        take(9, partition: 1)
        assignment.noteEnd(of: Self.first.place, end: 9)
        #expect(readableEnd(assignment) == 10, "it has grown since")
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 8 && readableEnd(assignment, low: 9) == 9)
        take(9)
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 10)
    }

    @Test("Before the first record, and after a start elsewhere, a partition is unreadable from its start on at most")
    func readableFromStart() {
        var assignment = KafkaAssignment()
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 10, "it is not assigned")
        assignment.add([Self.first])
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 3)
        #expect(assignment.contains(topicAddress: 16, partition: 0, offset: 8) { "a" })
        assignment.move(Self.first)
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 3, "what came before the move does not count")
        assignment.remove([Self.first.place])
        #expect(readableEnd(assignment) == 10)
        assignment.add([KafkaPartitionOffset(Self.first.place, offset: KafkaOffset.beginning)])
        assignment.noteEnd(of: Self.first.place, end: 10)
        #expect(readableEnd(assignment) == 10, "its start is not known")
    }
}
