/// Reads JSON text value by value (RFC 8259), for telling where it goes wrong.
///
/// Off the hot path: only what could not be decoded is read so.
struct JSONScanner {
    /// The kinds of value, as people call them.
    enum Kind: String {
        case object = "an object"
        case list = "a list"
        case text = "a text"
        case number = "a number"
        case flag = "true or false"
        case null = "null"
    }

    /// The text is no JSON, or its reader does not take it.
    struct Fault: Error, Equatable {
        /// In bytes; nil: it is JSON.
        var offset: Int?
        var finding: String
    }

    /// The deepest nesting: SwiftProtobuf's.
    static let depthLimit = 100

    let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// The kind of the value that comes.
    mutating func kind() throws(Fault) -> Kind {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .list
        case UInt8(ascii: "\""): return .text
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .flag
        case UInt8(ascii: "n"): return .null
        case let byte? where byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
            return .number
        default: throw fault("a value is missing")
        }
    }

    /// Reads the end of the text.
    mutating func readEnd() throws(Fault) {
        skipSpace()
        guard next == nil else { throw fault("there is more behind the end of the object") }
    }

    /// Reads an object; `member` reads each value.
    mutating func readObject(
        _ member: (inout JSONScanner, _ key: Range<Int>) throws(Fault) -> Void
    ) throws(Fault) {
        try expect(UInt8(ascii: "{"), "an opening brace is missing")
        skipSpace()
        if takeByte(UInt8(ascii: "}")) { return }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw fault("a key in quotes is missing") }
            let key = try readText()
            skipSpace()
            try expect(UInt8(ascii: ":"), "a colon is missing")
            try member(&self, key)
            skipSpace()
        } while takeByte(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"), "a comma or a closing brace is missing")
    }

    /// Reads a list; `element` reads each value.
    mutating func readList(
        _ element: (inout JSONScanner, _ index: Int) throws(Fault) -> Void
    ) throws(Fault) {
        try expect(UInt8(ascii: "["), "an opening bracket is missing")
        skipSpace()
        if takeByte(UInt8(ascii: "]")) { return }
        var index = 0
        repeat {
            try element(&self, index)
            index += 1
            skipSpace()
        } while takeByte(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"), "a comma or a closing bracket is missing")
    }

    /// Reads a text; returns what stands between its quotes.
    mutating func readText() throws(Fault) -> Range<Int> {
        try expect(UInt8(ascii: "\""), "a quote is missing")
        let start = position
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                let text = start..<position
                position += 1
                guard isValidUTF8(UnsafeRawBufferPointer(rebasing: bytes[text])) else {
                    throw Fault(offset: start, finding: "a text is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): try readEscape()
            case 0..<0x20: throw fault("a text has a raw control character, such as a line end; write \\n")
            default: position += 1
            }
        }
        throw Fault(offset: start, finding: "a text has no closing quote")
    }

    private mutating func readEscape() throws(Fault) {
        position += 1
        guard let byte = next else { throw fault("an escape is cut short") }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            let unit = try readUnit()
            guard !(0xDC00...0xDFFF).contains(unit) else { throw fault("an escape is half a character") }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            guard next == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
            else { throw fault("an escape is half a character") }
            position += 1
            guard (0xDC00...0xDFFF).contains(try readUnit()) else { throw fault("an escape is half a character") }
        default: throw fault("an escape is none of JSON's")
        }
    }

    /// Reads `u` and four hexadecimal digits.
    private mutating func readUnit() throws(Fault) -> UInt32 {
        position += 1
        guard position + 4 <= bytes.count else { throw fault("an escape has no four hexadecimal digits") }
        var unit: UInt32 = 0
        // Not by the number's text: an integer's may have a sign.
        for byte in bytes[position..<position + 4] {
            guard let digit = nibble(byte) else { throw fault("an escape has no four hexadecimal digits") }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }

    /// Reads a number; returns where it stands.
    mutating func readNumber() throws(Fault) -> Range<Int> {
        let start = position
        _ = takeByte(UInt8(ascii: "-"))
        let whole = position
        readDigits()
        guard position > whole, position == whole + 1 || bytes[whole] != UInt8(ascii: "0") else {
            throw Fault(offset: start, finding: "a number has a leading zero or no digits")
        }
        if takeByte(UInt8(ascii: ".")) {
            let fraction = position
            readDigits()
            guard position > fraction else { throw fault("a number has no digits behind its point") }
        }
        if takeByte(UInt8(ascii: "e")) || takeByte(UInt8(ascii: "E")) {
            if !takeByte(UInt8(ascii: "+")) { _ = takeByte(UInt8(ascii: "-")) }
            let exponent = position
            readDigits()
            guard position > exponent else { throw fault("a number has no digits in its exponent") }
        }
        return start..<position
    }

    private mutating func readDigits() {
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    }

    /// Reads `true`, `false` or `null`.
    mutating func readWord() throws(Fault) {
        for word in ["true", "false", "null"] where bytes[position...].starts(with: word.utf8) {
            position += word.utf8.count
            return
        }
        throw fault("a word is none of true, false and null")
    }

    /// Reads a value of any kind.
    ///
    /// - Parameter depth: of the objects and lists around it.
    mutating func skipValue(depth: Int) throws(Fault) {
        guard depth <= Self.depthLimit else { throw fault("the nesting is deeper than \(Self.depthLimit) levels") }
        switch try kind() {
        case .object:
            try readObject { scanner, _ throws(Fault) in try scanner.skipValue(depth: depth + 1) }
        case .list:
            try readList { scanner, _ throws(Fault) in try scanner.skipValue(depth: depth + 1) }
        case .text: _ = try readText()
        case .number: _ = try readNumber()
        case .flag, .null: try readWord()
        }
    }

    private mutating func takeByte(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8, _ finding: String) throws(Fault) {
        guard takeByte(byte) else { throw fault(finding) }
    }

    private func fault(_ finding: String) -> Fault { Fault(offset: position, finding: finding) }
}
