import Foundation
import LocalPipeline
import Testing

@testable import belfry_chaos

@Suite("What a chaos run reads and writes byte by byte")
struct WireTests {
    @Test("Requests to the broker stand as Kafka's protocol has them")
    func requests() {
        let client = [0, 12] + Array("belfry-chaos".utf8)
        let leave: [UInt8] = [0, 13, 0, 0, 0, 0, 0, 1] + client + [0, 1, UInt8(ascii: "g"), 0, 1, UInt8(ascii: "m")]
        #expect(KafkaWire.leaveGroup("g", member: "m") == [0, 0, 0, UInt8(leave.count)] + leave)
        let describe: [UInt8] = [0, 15, 0, 0, 0, 0, 0, 1] + client + [0, 0, 0, 1, 0, 1, UInt8(ascii: "g")]
        #expect(KafkaWire.describeGroup("g") == [0, 0, 0, UInt8(describe.count)] + describe)
        let delete: [UInt8] =
            [0, 21, 0, 0, 0, 0, 0, 1] + client + [0, 0, 0, 1, 0, 1, UInt8(ascii: "t"), 0, 0, 0, 1]
            + [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2] + [0, 0, 0x13, 0x88]
        #expect(
            KafkaWire.deleteRecords("t", before: [(partition: 3, offset: 258)]) == [0, 0, 0, UInt8(delete.count)]
                + delete
        )
    }

    @Test("Members of a group are read; an answer that is cut anywhere is malformed")
    func members() throws {
        func text(_ string: String) -> [UInt8] { [0, UInt8(string.utf8.count)] + Array(string.utf8) }
        let head: [UInt8] =
            [0, 0, 0, 1, 0, 0, 0, 1, 0, 0] + text("g") + text("Stable") + text("consumer") + text("range")
        let member =
            text("id-1") + text("client-1") + text("/127.0.0.1") + [0, 0, 0, 2, 9, 9] + [0xFF, 0xFF, 0xFF, 0xFF]
        let answer = head + [0, 0, 0, 2] + member + member
        let expected = KafkaWire.Member(identifier: "id-1", clientID: "client-1")
        #expect(try KafkaWire.members(in: answer) == [expected, expected])
        for count in 0..<answer.count {
            #expect(throws: KafkaWire.Malformed.self) { try KafkaWire.members(in: Array(answer[..<count])) }
        }
    }

    @Test("The log of acceptances is read as it is written, and one that is cut is an error")
    func acceptedLog() throws {
        let path = NSTemporaryDirectory() + "belfry-chaos-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let head = Array("BELFRYAL".utf8) + [1, 0, 2, 0, 3, 0] + Array("one".utf8) + [3, 0] + Array("two".utf8)
        let record: [UInt8] = [1, 2, 0, 0, 7, 0, 0, 0x40, 5, 0, 0, 0, 1, 0, 9, 0]
        func read(_ bytes: [UInt8]) throws -> (names: [String], records: [AcceptedLogFile.Record]) {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            var names: [String] = []
            var records: [AcceptedLogFile.Record] = []
            try AcceptedLogFile.read(path) {
                names = $0
            } _: {
                records.append($0)
            }
            return (names, records)
        }
        let found = try read(head + record + record)
        #expect(found.names == ["one", "two"])
        let expected = AcceptedLogFile.Record(
            device: 0x201,
            mark: 0x4000_0007,
            unixSeconds: 5,
            topic: 1,
            generation: 9
        )
        #expect(found.records == [expected, expected])
        #expect(try read(head).records.isEmpty)
        #expect(throws: AcceptedLogFile.Failure.self) { try read(head + record.dropLast()) }
        #expect(throws: AcceptedLogFile.Failure.self) { try read(Array(head.dropLast())) }
        #expect(throws: AcceptedLogFile.Failure.self) { try read(Array("something else".utf8)) }
    }

    @Test("A metric is the sum of its series, and no other whose name begins alike")
    func metrics() {
        let text = """
            # HELP belfry_resent_total Again.
            # TYPE belfry_resent_total counter
            belfry_resent_total{topic="a"} 3
            belfry_resent_total{topic="b"} 4
            belfry_resent_total_other 100
            belfry_plain 2

            """
        #expect(MetricsText.sum(of: "belfry_resent_total", in: text) == 7)
        #expect(MetricsText.sum(of: "belfry_plain", in: text) == 2)
        #expect(MetricsText.sum(of: "belfry_absent", in: text) == 0)
    }

    @Test("Bits are counted once, and sets are subtracted and united")
    func bits() {
        var left = Bitset()
        var right = Bitset()
        let inserted = [0, 63, 64, 100_000, 64].map { left.insert($0) }
        #expect(inserted == [true, true, true, true, false])
        #expect(left.count == 4 && left[63] && !left[62] && !left[1 << 30])
        right.insert(63)
        right.insert(5)
        #expect(left.subtracting(right) == 3)
        #expect(right.subtracting(left) == 1)
        #expect(left.union(right).count == 5)
        #expect(right.union(left).count == 5)
    }
}
