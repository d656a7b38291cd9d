import Foundation
import KafkaClient
import KafkaTestSupport
import Testing

/// Offsets by time. Of the foreign broker alone: the embedded one knows no times.
@Suite struct KafkaTimeTests {
    @Test("The first record that is not older than a time is found; where all are older, the end")
    func offsets() throws {
        let broker = try TestBroker(.foreign)
        defer { broker.close() }
        try broker.fill(0..<3, partition: 0)
        let consumer = try broker.consumer()
        defer { consumer.close() }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        func offset(_ hours: Int64) throws -> [Int64] {
            try consumer.offsets(
                notBefore: now + hours * 3_600_000,
                in: [broker.places[0]],
                timeoutMilliseconds: 30_000
            )
        }
        #expect(try offset(-1) == [0])
        #expect(try offset(1) == [KafkaOffset.end])
    }
}
