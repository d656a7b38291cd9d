/// Builds one JSON object on one line, key by key.
///
/// The caller sees to it that a key occurs once. Quotes, backslashes and control characters are escaped, also those
/// that JSON would let stand (DEL, C1), because terminals obey them. Other text stays UTF-8.
package struct JSONLine {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private var isFirst = true

    package init() {}

    /// The object without a line end.
    package var text: String { String(decoding: bytes, as: UTF8.self) + "}" }

    /// The object and a line end.
    package var line: [UInt8] { bytes + [UInt8(ascii: "}"), UInt8(ascii: "\n")] }

    package mutating func append(_ key: String, _ value: String) {
        appendKey(key)
        appendString(value)
    }

    package mutating func append(_ key: String, _ value: some BinaryInteger) {
        appendKey(key)
        bytes += "\(value)".utf8
    }

    package mutating func append(_ key: String, _ value: Bool) {
        appendKey(key)
        bytes += "\(value)".utf8
    }

    package mutating func append(_ key: String, _ value: JSONLine) {
        appendKey(key)
        bytes += value.text.utf8
    }

    package mutating func append(_ key: String, _ values: [String]) {
        appendKey(key)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendString(value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    package mutating func append(_ key: String, _ values: [JSONLine]) {
        appendKey(key)
        bytes += "[\(values.map(\.text).joined(separator: ","))]".utf8
    }

    private mutating func appendKey(_ key: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        appendString(key)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func appendString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        // C1, U+0080 to U+009F, is 0xC2 and a byte up to 0x9F.
        var mayBeginC1 = false
        for byte in text.utf8 {
            defer { mayBeginC1 = byte == 0xC2 }
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"):
                bytes += "\\n".utf8
            case 0x00..<0x20, 0x7F:
                appendEscape(byte)
            case 0x80..<0xA0 where mayBeginC1:
                bytes.removeLast()
                appendEscape(byte)
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ scalar: UInt8) {
        bytes += "\\u00".utf8
        bytes += [Self.digit(scalar >> 4), Self.digit(scalar & 15)]
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
