import APNsProtocol
import TestSupport
import Testing

@Suite("Looking ahead for tokens")
struct TokenLookaheadTests {
    /// Offset in the stream, and bytes, of each token that is found.
    private func tokens(in stream: [UInt8], atMost limit: Int = .max) -> [(offset: Int, token: [UInt8])] {
        stream.withUnsafeBytes { bytes in
            var found: [(Int, [UInt8])] = []
            TokenLookahead.forEachToken(in: bytes) { token in
                guard let start = bytes.baseAddress, let place = token.baseAddress else { return false }
                found.append((place - start, [UInt8](token)))
                return found.count < limit
            }
            return found
        }
    }

    private func frame(_ number: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let token = (0..<Int.random(in: 1...100, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* number) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return Frame.command0(token: token, payload: Sample.payload)
        case 1: return Frame.command1(number, expiration: 0, token: token, payload: Sample.payload)
        default:
            let items = [Frame.item(1, token), Item.payload, Item.identifier(number), Item.expiration, Item.priority]
            return Frame.command2(items.shuffled(using: &random))
        }
    }

    @Test("The tokens are those that the decoder hands out, at the same places", arguments: 0..<50 as Range<UInt64>)
    func sameAsDecoder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let stream = (1...20).flatMap { frame($0, &random) }
        var decoder = GatewayFrameDecoder(limits: GatewayLimits(tokenBytes: 1...100))
        var offsets: [Int] = []
        var frames: [Int] = []
        let outcome = stream.withUnsafeBytes { bytes in
            decoder.decode(bytes) { notification in
                guard let start = bytes.baseAddress, let frame = notification.frame,
                    let token = notification.token.baseAddress
                else { return .processingError }
                offsets.append(token - start)
                frames.append(frame - start)
                return nil
            }
        }
        #expect(outcome == .needMore)
        #expect(tokens(in: stream).map(\.offset) == offsets)
        for (frame, offset) in zip(frames, offsets) {
            #expect(tokens(in: Array(stream[frame...]), atMost: 1).map { $0.offset + frame } == [offset])
        }
    }

    @Test("A frame that is not all there ends it, wherever it is cut", arguments: 0..<10 as Range<UInt64>)
    func cutOff(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let frames = (1...4).map { frame($0, &random) }
        let stream = frames.flatMap { $0 }
        var whole = 0
        for count in 0...stream.count {
            let ends = frames.indices.map { frames[...$0].reduce(0) { $0 + $1.count } }
            whole = ends.count { $0 <= count }
            #expect(tokens(in: Array(stream[..<count])).count == whole)
        }
        #expect(whole == 4)
    }

    @Test("It ends at an unknown command, at a frame without a token, and when it is told to")
    func ends() {
        let good = Frame.command2([Item.identifier(1), Item.token, Item.payload])
        #expect(tokens(in: good + [3] + good).count == 1)
        #expect(tokens(in: good + Frame.command2([Item.identifier(1), Item.payload]) + good).count == 1)
        #expect(tokens(in: good + Frame.command2([Item.payload, [1, 0]]) + good).count == 1)
        #expect(tokens(in: good + good + good, atMost: 2).count == 2)
        #expect(tokens(in: []).isEmpty)
    }

    @Test("For any bytes, only those of the stream are reported", arguments: 0..<200 as Range<UInt64>)
    func garbage(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Small values: they make commands, item numbers and lengths that fit.
        let bytes = (0..<300).map { _ in UInt8.random(in: 0...6, using: &random) }
        for found in tokens(in: bytes) {
            #expect(found.offset >= 0 && found.offset + found.token.count <= bytes.count)
        }
    }
}
