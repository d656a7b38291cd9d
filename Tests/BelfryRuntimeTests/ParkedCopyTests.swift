import KafkaClient
import PipelineCore
import Testing

@testable import BelfryRuntime

/// What the headers of a parked record say.
@Suite struct ParkedCopyTests {
    private func message(_ headers: [(String, [UInt8])]) -> KafkaBatch {
        KafkaBatch([
            KafkaRecord(
                topic: "any",
                partition: 3,
                offset: 77,
                key: Array("com.example.news".utf8),
                value: [1, 2],
                headers: headers.map { (name: $0.0, value: $0.1) }
            )
        ])
    }

    /// The headers of this copy of a message with some of its own.
    private func written(_ copy: ParkedCopy, _ headers: [(String, [UInt8])] = []) -> [(String, [UInt8])] {
        let batch = message(headers)
        return withExtendedLifetime(batch) { copy.headers(of: batch[0]) }
    }

    private func read(_ headers: [(String, [UInt8])]) -> ParkedCopy? {
        let batch = message(headers)
        return withExtendedLifetime(batch) { ParkedCopy(batch[0]) }
    }

    private func text(_ headers: [(String, [UInt8])]) -> [String] {
        headers.map { "\($0.0)=\(String(decoding: $0.1, as: UTF8.self))" }
    }

    private let copy = ParkedCopy(
        sourceTopic: "push.requests",
        sourceOffset: 77,
        sourceTimestamp: 1_800_000_000_123,
        environment: "sandbox",
        tokens: TokenRuns("0-3,9"),
        writer: "1f"
    )

    @Test("The source's headers come first, unchanged; ours follow, and are read again")
    func roundTrip() {
        let headers = written(copy, [("traceparent", [7]), ("twice", [1]), ("twice", [])])
        #expect(headers.prefix(3).map(\.0) == ["traceparent", "twice", "twice"])
        #expect(headers.prefix(3).map(\.1) == [[7], [1], []])
        #expect(
            text(Array(headers.dropFirst(3))) == [
                "source-topic=push.requests", "source-partition=3", "source-offset=77", "environment=sandbox",
                "parked-by=1f", "source-timestamp=1800000000123", "token-indices=0-3,9",
            ]
        )
        #expect(read(headers) == copy)
    }

    @Test("A copy of a whole record names no tokens, whatever its producer wrote under that name")
    func allTokens() {
        var whole = copy
        whole.tokens = nil
        whole.sourceTimestamp = nil
        let theirs = [("token-indices", Array("5".utf8)), ("parked-by", [1]), ("source-timestamp", Array("6".utf8))]
        let headers = written(whole, theirs)
        #expect(read(headers) == whole)
    }

    @Test(
        "What is no copy of a record of this partition is none",
        arguments: [
            ("source-topic", nil), ("source-partition", nil), ("source-partition", "4"), ("source-offset", "-1"),
            ("source-offset", "x"), ("environment", nil), ("token-indices", "3-1"), ("parked-by", nil),
        ] as [(String, String?)]
    )
    func foreign(name: String, value: String?) {
        var headers = written(copy)
        headers.removeAll { $0.0 == name }
        if let value { headers.append((name, Array(value.utf8))) }
        #expect(read(headers) == nil)
    }
}
