import APNsProtocol
import Testing

@Suite struct ErrorResponseTests {
    private typealias Outcome = ErrorResponseDecoder.Outcome

    private func outcomes(_ chunks: [[UInt8]], _ decoder: inout ErrorResponseDecoder) -> [Outcome] {
        chunks.map { chunk in chunk.withUnsafeBytes { decoder.decode($0) } }
    }

    @Test("An error response is 08, status, identifier in network order")
    func encoding() {
        let response = ErrorResponse(status: .invalidToken, identifier: 0x0102_0304)
        #expect(response.encoded == [8, 8, 1, 2, 3, 4])
        #expect(ErrorResponse.encodedBytes == 6)
    }

    @Test("A buffer that is too short traps instead of being overrun")
    func shortBuffer() async {
        await #expect(processExitsWith: .failure) {
            var five = [UInt8](repeating: 0, count: 5)
            five.withUnsafeMutableBytes { _ = ErrorResponse(status: .shutdown, identifier: 1).encode(into: $0) }
        }
    }

    @Test("Every status byte is decoded, however the packet is cut", arguments: 0...UInt8.max)
    func roundTrip(status: UInt8) {
        let response = ErrorResponse(status: APNsStatus(rawValue: status), identifier: 0xFFFF_FFFE)
        for first in 0...6 {
            for second in first...6 {
                let packet = response.encoded
                let chunks = [[UInt8](packet[..<first]), [UInt8](packet[first..<second]), [UInt8](packet[second...])]
                var decoder = ErrorResponseDecoder()
                let outcomes = outcomes(chunks, &decoder)
                #expect(outcomes.filter { $0 == .response(response) }.count == 1)
                #expect(outcomes.allSatisfy { $0 == .response(response) || $0 == .needMore || $0 == .ignored })
                #expect(decoder.ignoredBytes == 0)
            }
        }
    }

    @Test("What follows the packet is ignored and counted, in the same chunk and in later ones")
    func trailing() {
        var decoder = ErrorResponseDecoder()
        let packet = ErrorResponse(status: .shutdown, identifier: 7).encoded
        let outcomes = outcomes([packet + [8, 1, 0], packet], &decoder)
        #expect(outcomes == [.response(ErrorResponse(status: .shutdown, identifier: 7)), .ignored])
        #expect(decoder.ignoredBytes == 9)
    }

    @Test("Another first byte is malformed, reported once with that byte", arguments: [0, 2, 7, 9, 72, 255] as [UInt8])
    func malformed(first: UInt8) {
        var decoder = ErrorResponseDecoder()
        let outcomes = outcomes([[], [first, 8], [8, 1, 0, 0, 0, 1]], &decoder)
        #expect(outcomes == [.needMore, .malformed(commandByte: first), .ignored])
        #expect(decoder.ignoredBytes == 7)
    }

    @Test("A packet that the stream's end cuts off is visible as buffered bytes")
    func cut() {
        var decoder = ErrorResponseDecoder()
        #expect(outcomes([[8, 8], [0]], &decoder) == [.needMore, .needMore])
        #expect(decoder.bufferedBytes == 3)
        #expect(outcomes([[0, 0, 9]], &decoder) == [.response(ErrorResponse(status: .invalidToken, identifier: 9))])
        #expect(decoder.bufferedBytes == 0)
    }
}
