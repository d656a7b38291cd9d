import Foundation
import KafkaClient
import PushSchemas
import Testing

@testable import BelfryTools
@testable import TokenState

/// The form of times in the JSON that commands print.
@Suite struct TimeFormTests {
    private static let seconds: Int64 = 1_366_709_400

    /// Lines of commands, and how many times each has. All times are the same second.
    private static let lines: [(command: String, json: String, times: Int)] = {
        var record = TokenRecord()
        record.registeredAt = UInt32(seconds)
        record.describedAt = UInt32(seconds)
        record.tombstonedAt = UInt32(seconds)
        let batch = KafkaBatch([
            KafkaRecord(
                topic: "push.dead-letters",
                partition: 0,
                offset: 0,
                key: Array("a".utf8),
                value: [],
                timestampMilliseconds: seconds * 1000,
                headers: [("reason", Array("key-missing".utf8))]
            )
        ])
        let letter = withExtendedLifetime(batch) { StoredDeadLetter(batch[0]) }
        let outcome = PushOutcome.with { $0.decidedAtMs = seconds * 1000 }
        return [
            ("tokens", TokenReport(record, of: [1]).json, 3),
            ("outcomes", OutcomeLine(outcome).json.text, 1),
            ("dead-letters list", DeadLetterLine(letter: letter).json.text, 1),
        ]
    }()

    @Test("Times in the JSON of commands are texts as of ISO 8601, and no number counts seconds")
    func form() throws {
        for line in Self.lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.json.utf8))
            let values = try #require(object as? [String: Any]).values
            #expect(values.count { $0 as? String == "2013-04-23T09:30:00.000Z" } == line.times, "\(line.json)")
            #expect(!values.contains { ($0 as? Int64 ?? 0) >= Self.seconds }, "\(line.json)")
        }
    }
}
