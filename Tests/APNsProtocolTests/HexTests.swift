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

    @Test("Every byte at every place among many digits is judged as it is alone")
    func wide() {
        for place in 0..<8 {
            for byte in 0...255 as ClosedRange<UInt8> {
                var digits = [UInt8]("0123456789abcdef".utf8)
                digits[place] = byte
                var output = [UInt8](repeating: 0, count: 8)
                let written = digits.withUnsafeBytes { digits in
                    output.withUnsafeMutableBytes { try? Hex.decode(digits, into: $0) }
                }
                let values = digits.map { Character(UnicodeScalar($0)) }.map { $0.isASCII ? $0.hexDigitValue : nil }
                guard values[place] != nil else {
                    #expect(written == nil, "\(byte) at \(place)")
                    continue
                }
                let expected = stride(from: 0, to: 16, by: 2).map { (values[$0] ?? 0) << 4 | (values[$0 + 1] ?? 0) }
                #expect(output.map(Int.init) == expected, "\(byte) at \(place)")
            }
        }
        #expect(throws: HexError.invalidDigit(offset: 13)) { try Hex.decode("0123456789abcGef") }
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
