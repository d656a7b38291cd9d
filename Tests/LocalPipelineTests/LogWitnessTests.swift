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
        var complaints: [String?] = []
        for offset in 0..<5 as Range<Int64> {
            complaints.append(witness.read(offset, of: Self.place))
            complaints.append(witness.acknowledged(2 * offset, in: Self.place))
        }
        complaints.append(witness.read(0, of: Self.other))
        complaints.append(witness.acknowledged(-1, in: Self.place))
        #expect(complaints.allSatisfy { $0 == nil })
        #expect(witness.seen == [Self.place: 5, Self.other: 1])
        #expect(LogWitness.check(end: 5, of: Self.place, against: witness.seen) == nil)
    }

    @Test("A log that goes on before what was read from it has lost messages, and is not passed over")
    func shrunk() {
        var witness = LogWitness()
        for offset in 0..<5 as Range<Int64> { _ = witness.read(offset, of: Self.place) }
        let complaint = witness.read(3, of: Self.place) ?? ""
        #expect(complaint.contains("goes on at 3 after 5 were read: the broker has lost what it had acknowledged"))
        #expect(witness.seen[Self.place] == 5)
    }

    @Test("A gap is told, and followed behind it")
    func gap() {
        var witness = LogWitness()
        let complaints = [0, 2, 3].map { witness.read($0, of: Self.place) }
        #expect(complaints[0] == nil && complaints[2] == nil)
        #expect(complaints[1]?.hasSuffix("1 is followed by 2") == true)
    }

    @Test("A broker that gives an offset a second time has lost the first message")
    func acknowledgedTwice() {
        var witness = LogWitness()
        let first = [witness.acknowledged(7, in: Self.place), witness.acknowledged(7, in: Self.other)]
        #expect(first == [nil, nil])
        let complaint = witness.acknowledged(7, in: Self.place) ?? ""
        #expect(complaint.contains("goes on at 7 after 7 was acknowledged"))
    }

    @Test("A log that ends before what was read from it is told with both numbers")
    func end() throws {
        let complaint = try #require(LogWitness.check(end: 90, of: Self.place, against: [Self.place: 100]))
        #expect(complaint.contains("ends at 90 after 100 were read"))
    }
}
