import APNsProtocol
import Testing

@Suite struct HexTests {
    @Test("Every byte is two lower-case digits and comes back, in either case")
    func roundTrip() throws {
        let bytes = [UInt8](0...255)
        let text = Hex.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(text == text.lowercased())
        #expect(try Hex.decode(text) == bytes)
        #expect(try Hex.decode(text.uppercased()) == bytes)
        #expect(try Hex.decode("").isEmpty)
    }

    @Test("Decoding into a buffer writes half as many bytes as there are digits")
    func intoBuffer() throws {
        var output = [UInt8](repeating: 0xEE, count: 4)
        let written = try [UInt8]("0aFf10".utf8).withUnsafeBytes { digits in
            try output.withUnsafeMutableBytes { try Hex.decode(digits, into: $0) }
        }
        #expect(written == 3)
        #expect(output == [0x0A, 0xFF, 0x10, 0xEE])
    }

    @Test("What is not hexadecimal is refused with its place")
    func refused() {
        #expect(throws: HexError.invalidDigit(offset: 3)) { try Hex.decode("012g") }
        #expect(throws: HexError.invalidDigit(offset: 0)) { try Hex.decode("/0") }
        #expect(throws: HexError.invalidDigit(offset: 1)) { try Hex.decode("0:") }
        #expect(throws: HexError.invalidDigit(offset: 0)) { try Hex.decode("@0") }
        #expect(throws: HexError.invalidDigit(offset: 0)) { try Hex.decode("`0") }
        #expect(throws: HexError.invalidDigit(offset: 2)) { try Hex.decode("00\u{E9}") }
        #expect(throws: HexError.oddLength(3)) { try Hex.decode("012") }
        #expect(HexError.oddLength(3).description == "has 3 hexadecimal digits, an odd number")
    }
}
