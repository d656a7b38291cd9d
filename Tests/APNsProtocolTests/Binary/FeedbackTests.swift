import APNsProtocol
import TestSupport
import Testing

@Suite struct FeedbackTests {
    private func decode(_ chunks: [[UInt8]]) -> (tuples: [FeedbackTuple], leftBytes: Int) {
        var decoder = FeedbackDecoder()
        var tuples: [FeedbackTuple] = []
        for chunk in chunks {
            chunk.withUnsafeBytes { bytes in decoder.decode(bytes) { tuples.append($0) } }
        }
        return (tuples, decoder.endOfStream())
    }

    @Test("A tuple is timestamp, token length, token in network order")
    func layout() {
        let tuple = FeedbackTuple(timestamp: 0x0102_0304, token: [9, 8, 7])
        #expect(tuple.encoded == [1, 2, 3, 4, 0, 3, 9, 8, 7])
        #expect(tuple.encodedBytes == 9)
    }

    @Test("Tuples with tokens of every length come through any chunking, and the end is clean")
    func chunkings() {
        for seed in 0..<200 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let tuples = (0..<20).map { _ in
                let length = [0, 1, 32, 100, 300].randomElement(using: &generator) ?? 32
                return FeedbackTuple(
                    timestamp: UInt32.random(in: 0...UInt32.max, using: &generator),
                    token: generator.bytes(length)
                )
            }
            let result = decode(tuples.flatMap(\.encoded).chunked(using: &generator))
            #expect(result.tuples == tuples, "seed \(seed)")
            #expect(result.leftBytes == 0, "seed \(seed)")
        }
    }

    @Test("A stream cut inside a tuple delivers the whole ones and says how many bytes are left")
    func cut() {
        let tuple = FeedbackTuple(timestamp: 1, token: Sample.token)
        let stream = tuple.encoded + tuple.encoded
        for length in 0...stream.count {
            let result = decode([[UInt8](stream.prefix(length))])
            #expect(result.tuples == [FeedbackTuple](repeating: tuple, count: length / 38))
            #expect(result.leftBytes == length % 38)
        }
    }

    @Test("The longest token the length field can tell is decoded")
    func longest() {
        let tuple = FeedbackTuple(timestamp: 1, token: [UInt8](repeating: 7, count: 65_535))
        #expect(decode(tuple.encoded.map { [$0] }).tuples == [tuple])
    }
}
