/// Builds one JSON object on one line, key by key.
///
/// The caller sees to it that a key occurs once. Everything is ASCII-safe as far as JSON asks for: quotes, backslashes
/// and control characters are escaped, other text stays UTF-8.
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
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"):
                bytes += "\\n".utf8
            case 0x00..<0x20:
                bytes += "\\u00".utf8
                bytes += [Self.digit(byte >> 4), Self.digit(byte & 15)]
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
