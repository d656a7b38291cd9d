import SwiftProtobuf

extension PushDeviceToken {
    /// The token's bytes, from either form.
    ///
    /// Throws `tokenMissing` or `tokenNotHexadecimal`. The reader judges the length, which depends on the gateway.
    public func bytes() throws(RecordError) -> [UInt8] {
        switch value {
        case .raw(let raw):
            guard !raw.isEmpty else { throw RecordError(.tokenMissing, "the token is empty") }
            return [UInt8](raw)
        case .hex(let hex):
            guard !hex.isEmpty else { throw RecordError(.tokenMissing, "the token is empty") }
            let utf8 = [UInt8](hex.utf8)
            var bytes = [UInt8](repeating: 0, count: utf8.count / 2)
            let isValid = utf8.withUnsafeBytes { digits in
                bytes.withUnsafeMutableBytes { decodeHexadecimal(digits, into: $0) }
            }
            guard isValid else {
                throw RecordError(.tokenNotHexadecimal, "the token is not an even number of hexadecimal digits")
            }
            return bytes
        case nil:
            throw RecordError(.tokenMissing, "the token has neither 'raw' nor 'hex'")
        }
    }
}

/// Decodes hexadecimal digits of either case. False, with `output` undefined, if `digits` is anything else or its
/// count is odd. `output` must hold half as many bytes.
func decodeHexadecimal(_ digits: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Bool {
    guard digits.count.isMultiple(of: 2) else { return false }
    precondition(output.count >= digits.count / 2, "the output holds half as many bytes as there are digits")
    for index in 0..<digits.count / 2 {
        guard let high = nibble(digits[2 * index]), let low = nibble(digits[2 * index + 1]) else { return false }
        output[index] = high << 4 | low
    }
    return true
}

/// The value of a hexadecimal digit of either case; nil: the byte is none.
func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
