/// Reads a JSON text forwards, from bytes that were not checked.
///
/// The caller asks for what it expects; anything else is an error with its place. For the small texts of the provider
/// API; a payload is judged by ``PayloadScanner``.
struct JSONReader {
    /// The deepest nesting of a skipped value, and of a payload that has passed ``PayloadScanner``.
    static let depthLimit = PayloadScanner.depthLimit

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// - Parameter bytes: valid while the reader is used.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Reads an object.
    ///
    /// - Parameter readMember: called for each key, in order, keys that come twice included; it reads the value.
    mutating func readObject(
        _ readMember: (inout JSONReader, String) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        try expectByte(UInt8(ascii: "{"))
        if takesByte(UInt8(ascii: "}")) { return }
        repeat {
            let key = try readString()
            try expectByte(UInt8(ascii: ":"))
            try readMember(&self, key)
        } while takesByte(UInt8(ascii: ","))
        try expectByte(UInt8(ascii: "}"))
    }

    /// Reads a string; its escapes are resolved.
    mutating func readString() throws(JSONFault) -> String {
        try expectByte(UInt8(ascii: "\""))
        let start = position
        var hasEscapes = false
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] >= 0x20 else { throw malformed }
            if bytes[position] == UInt8(ascii: "\\") {
                hasEscapes = true
                position += 1
            }
            position += 1
        }
        guard position < bytes.count else { throw .malformed(offset: bytes.count) }
        let content = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        position += 1
        let text = hasEscapes ? JSONEscapes.resolved(content) : String(validating: content, as: UTF8.self)
        guard let text else { throw .malformed(offset: start) }
        return text
    }

    /// Reads a number without sign, fraction and exponent.
    mutating func readWholeNumber() throws(JSONFault) -> Int64 {
        skipWhiteSpace()
        let start = position
        var value: Int64 = 0
        while position < bytes.count, let digit = Self.digit(bytes[position]) {
            let (scaled, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, carries) = scaled.addingReportingOverflow(digit)
            guard !overflows, !carries, position == start || value > 0 else { throw malformed }
            value = sum
            position += 1
        }
        let isWhole = position == bytes.count || !Self.continuesNumber(bytes[position])
        guard position > start, isWhole else { throw malformed }
        return value
    }

    /// Reads a value of any kind and forgets it.
    mutating func skipValue() throws(JSONFault) {
        try skipValue(depth: 1)
    }

    /// Reads an array.
    ///
    /// - Parameter readElement: called before each element, in order; it reads the element.
    mutating func readArray(_ readElement: (inout JSONReader) throws(JSONFault) -> Void) throws(JSONFault) {
        try expectByte(UInt8(ascii: "["))
        if takesByte(UInt8(ascii: "]")) { return }
        repeat {
            try readElement(&self)
        } while takesByte(UInt8(ascii: ","))
        try expectByte(UInt8(ascii: "]"))
    }

    /// The first byte of what comes next, which is not read yet; nil: the text ends.
    mutating func nextByte() -> UInt8? {
        skipWhiteSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    /// Reads the end of the text: nothing but white space may be left.
    mutating func readEnd() throws(JSONFault) {
        skipWhiteSpace()
        guard position == bytes.count else { throw malformed }
    }
}

extension JSONReader {
    private var malformed: JSONFault { .malformed(offset: min(position, bytes.count)) }

    /// - Parameter depth: of the value, if it is a container; the outermost is 1.
    private mutating func skipValue(depth: Int) throws(JSONFault) {
        skipWhiteSpace()
        guard position < bytes.count else { throw malformed }
        switch bytes[position] {
        case UInt8(ascii: "\""):
            _ = try readString()
        case UInt8(ascii: "{"):
            guard depth <= Self.depthLimit else { throw .tooDeep(offset: position) }
            try readObject { reader, _ throws(JSONFault) in try reader.skipValue(depth: depth + 1) }
        case UInt8(ascii: "["):
            guard depth <= Self.depthLimit else { throw .tooDeep(offset: position) }
            try readArray { reader throws(JSONFault) in try reader.skipValue(depth: depth + 1) }
        case UInt8(ascii: "t"):
            try skipLiteral("true")
        case UInt8(ascii: "f"):
            try skipLiteral("false")
        case UInt8(ascii: "n"):
            try skipLiteral("null")
        default:
            try skipNumber()
        }
    }

    private mutating func skipLiteral(_ literal: StaticString) throws(JSONFault) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard position < bytes.count, bytes[position] == literal.utf8Start[index] else { throw malformed }
            position += 1
        }
    }

    /// Reads `-`? (`0` | `1`-`9` digits) (`.` digits)? (`e` sign? digits)? (RFC 8259 §6).
    private mutating func skipNumber() throws(JSONFault) {
        takeByte { $0 == UInt8(ascii: "-") }
        let isZero = takeByte { $0 == UInt8(ascii: "0") }
        if !isZero { try skipDigits() }
        if takeByte({ $0 == UInt8(ascii: ".") }) { try skipDigits() }
        // 0x20 is the difference between the cases.
        if takeByte({ $0 | 0x20 == UInt8(ascii: "e") }) {
            takeByte { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(JSONFault) {
        guard takeByte({ Self.digit($0) != nil }) else { throw malformed }
        while takeByte({ Self.digit($0) != nil }) {}
    }

    /// Passes over the next byte if it is of a kind.
    @discardableResult
    private mutating func takeByte(_ isOfKind: (UInt8) -> Bool) -> Bool {
        guard position < bytes.count, isOfKind(bytes[position]) else { return false }
        position += 1
        return true
    }

    /// Passes over white space and a byte.
    private mutating func expectByte(_ byte: UInt8) throws(JSONFault) {
        guard takesByte(byte) else { throw malformed }
    }

    /// Passes over white space, and over a byte if that comes next.
    private mutating func takesByte(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        return takeByte { $0 == byte }
    }

    private mutating func skipWhiteSpace() {
        while takeByte({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }) {}
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte - UInt8(ascii: "0")) : nil
    }

    /// The byte belongs to a number, behind its whole part.
    private static func continuesNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") || digit(byte) != nil
    }
}

/// The reason why bytes are not the expected JSON.
enum JSONFault: Error, Hashable, Sendable {
    /// The byte at this offset is not the beginning of what is expected; the length if the text ends too early.
    case malformed(offset: Int)
    /// Values are nested deeper than ``JSONReader/depthLimit``.
    case tooDeep(offset: Int)
}
