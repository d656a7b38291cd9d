import KafkaClient
import Testing

@testable import LocalPipeline

@Suite("A witness of logs that are read once")
struct LogWitnessTests {
    private static let place = KafkaTopicPartition(topic: "push.outcomes", partition: 3)
    private static let other = KafkaTopicPartition(topic: "push.outcomes", partition: 4)

    @Test("Messages that follow each other are no matter for complaint, whatever other places do")
    func inOrder() {
        var witness = LogWitness([Self.place])
        for offset in 0..<5 as Range<Int64> {
            #expect(witness.read(offset, of: Self.place) == nil)
            #expect(witness.acknowledged(2 * offset, in: Self.place) == nil)
        }
        #expect(witness.read(0, of: Self.other) == nil)
        #expect(witness.acknowledged(-1, in: Self.place) == nil)
        #expect(witness.seen == [Self.place: 5, Self.other: 1])
        #expect(LogWitness.check(end: 5, of: Self.place, against: witness.seen) == nil)
    }

    @Test("A log that goes on before what was read from it has lost messages, and is not passed over")
    func shrunk() throws {
        var witness = LogWitness()
        for offset in 0..<5 as Range<Int64> { _ = witness.read(offset, of: Self.place) }
        let complaint = try #require(witness.read(3, of: Self.place))
        #expect(complaint.contains("goes on at 3 after 5 were read: the broker has lost what it had acknowledged"))
        #expect(witness.seen[Self.place] == 5)
    }

    @Test("A gap is told, and followed behind it")
    func gap() {
        var witness = LogWitness()
        #expect(witness.read(0, of: Self.place) == nil)
        #expect(witness.read(2, of: Self.place)?.hasSuffix("1 is followed by 2") == true)
        #expect(witness.read(3, of: Self.place) == nil)
    }

    @Test("A broker that gives an offset a second time has lost the first message")
    func acknowledgedTwice() throws {
        var witness = LogWitness()
        #expect(witness.acknowledged(7, in: Self.place) == nil)
        #expect(witness.acknowledged(7, in: Self.other) == nil)
        let complaint = try #require(witness.acknowledged(7, in: Self.place))
        #expect(complaint.contains("goes on at 7 after 7 was acknowledged"))
    }

    @Test("A log that ends before what was read from it is told with both numbers")
    func end() throws {
        let complaint = try #require(LogWitness.check(end: 90, of: Self.place, against: [Self.place: 100]))
        #expect(complaint.contains("ends at 90 after 100 were read"))
    }
}
