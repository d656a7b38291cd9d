/// Device tokens as text. Written in lower case; both cases are read.
public enum Hex {
    /// Two digits for each byte.
    public static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { digits in
            for (index, byte) in bytes.enumerated() {
                digits[2 * index] = digit(byte >> 4)
                digits[2 * index + 1] = digit(byte & 15)
            }
            return bytes.count * 2
        }
    }

    /// Two digits for each byte.
    public static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes(encode)
    }

    /// The bytes of a text that is nothing but pairs of hexadecimal digits; the empty text is no bytes.
    public static func decode(_ text: some StringProtocol) throws(HexError) -> [UInt8] {
        let digits = [UInt8](text.utf8)
        var bytes = [UInt8]()
        bytes.reserveCapacity(digits.count / 2)
        for offset in stride(from: 0, to: digits.count - 1, by: 2) {
            bytes.append(try byte(digits[offset], digits[offset + 1], offset: offset))
        }
        guard digits.count.isMultiple(of: 2) else { throw .oddLength(digits.count) }
        return bytes
    }

    /// Decodes ASCII digits without allocating.
    ///
    /// - Parameters:
    ///   - digits: nothing but pairs of hexadecimal digits; valid during the call.
    ///   - output: at least half as long; a shorter one traps. Undefined after an error.
    /// - Returns: the number of bytes written, half the number of digits.
    @discardableResult
    public static func decode(
        _ digits: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(HexError) -> Int {
        let count = digits.count / 2
        precondition(output.count >= count, "\(digits.count) digits do not fit into \(output.count) bytes")
        for index in decodeWide(digits, into: output)..<count {
            output[index] = try byte(digits[2 * index], digits[2 * index + 1], offset: 2 * index)
        }
        guard digits.count.isMultiple(of: 2) else { throw .oddLength(digits.count) }
        return count
    }

    /// Decodes eight digits at a time, as bytes of one number, up to a byte that is none.
    ///
    /// - Returns: the number of bytes written.
    private static func decodeWide(
        _ digits: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        // The same byte eight times.
        func each(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }
        var count = 0
        while digits.count - 2 * count >= 8 {
            let wide = UInt64(littleEndian: digits.loadUnaligned(fromByteOffset: 2 * count, as: UInt64.self))
            // 1 for letters, and for other bytes from 64 on.
            let letter = (wide >> 6) & each(1)
            let low = wide & each(0x0F)
            // 0x30 for digits, and 0x60 for letters of either case.
            let isUpperWrong = ((wide | letter << 5) & each(0xF0)) ^ (each(0x30) &+ 0x30 &* letter)
            // 0 to 9, or 1 to 6.
            let isTooGreat = (low &+ each(6) &+ 3 &* letter) & each(0x10)
            let isZeroLetter = letter & ~((low &+ each(0x0F)) >> 4)
            guard isUpperWrong | isTooGreat | isZeroLetter == 0 else { break }
            let values = low &+ 9 &* letter
            var bytes = ((values << 4) | (values >> 8)) & 0x00FF_00FF_00FF_00FF
            bytes = (bytes | (bytes >> 8)) & 0x0000_FFFF_0000_FFFF
            bytes |= bytes >> 16
            output.storeBytes(of: UInt32(truncatingIfNeeded: bytes).littleEndian, toByteOffset: count, as: UInt32.self)
            count += 4
        }
        return count
    }

    /// - Parameter offset: of the first of the two digits.
    @inline(__always)
    private static func byte(_ first: UInt8, _ second: UInt8, offset: Int) throws(HexError) -> UInt8 {
        guard let high = value(first) else { throw .invalidDigit(offset: offset) }
        guard let low = value(second) else { throw .invalidDigit(offset: offset + 1) }
        return high << 4 | low
    }

    /// The digit of a value below 16.
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10)
    }

    /// The value of a hexadecimal digit, or `nil`.
    @inline(__always)
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The reason why a text is not hexadecimal.
public enum HexError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The byte at this offset of the text is not a hexadecimal digit.
    case invalidDigit(offset: Int)
    /// All bytes are digits, but their number is odd.
    case oddLength(Int)

    /// Fit for "the token …".
    public var description: String {
        switch self {
        case .invalidDigit(let offset): "is not hexadecimal: byte \(offset) is not one of 0-9, a-f, A-F"
        case .oddLength(let count): "has \(count) hexadecimal digits, an odd number"
        }
    }
}
