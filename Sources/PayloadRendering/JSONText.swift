/// A JSON text being written: no white space, and escapes only where JSON demands them (RFC 8259, 7).
struct JSONText {
    private(set) var bytes: [UInt8] = []

    init() {}

    /// - Parameter bytes: room for as many.
    init(bytes count: Int) { bytes.reserveCapacity(count) }

    /// - Parameter text: the content of a string.
    init(escaped text: ArraySlice<UInt8>) { bytes = Array(text) }

    /// Appends text of the format itself.
    mutating func append(raw text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Appends a string with its quotes.
    mutating func append(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        append(contentOf: text)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends what stands between the quotes of a string.
    mutating func append(contentOf text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Most texts need no escapes.
            if utf8.allSatisfy({ Self.escapedBytes(of: $0) == 1 }) {
                bytes.append(contentsOf: utf8)
            } else {
                for byte in utf8 { append(escaping: byte) }
            }
        }
    }

    /// Appends a string, of which the content is given, with its quotes.
    mutating func append(escaped text: JSONText) {
        bytes.append(UInt8(ascii: "\""))
        append(json: text.bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func append(_ texts: [String]) {
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(text)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    mutating func append(_ number: Int64) {
        bytes.append(contentsOf: String(number).utf8)
    }

    /// Appends a finite number; a whole one without a fraction as far as 64-bit floating point is exact.
    mutating func append(_ number: Double) {
        precondition(number.isFinite, "JSON has finite numbers only")
        if number.magnitude <= 0x1p53, let whole = Int64(exactly: number) { return append(whole) }
        bytes.append(contentsOf: "\(number)".utf8)
    }

    /// Appends bytes that are JSON already.
    mutating func append(json: [UInt8]) {
        bytes.append(contentsOf: json)
    }

    /// The bytes that a text takes between its quotes.
    static func escapedBytes(of text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { $0 + escapedBytes(of: $1) }
    }

    private static func escapedBytes(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
        case 0..<0x20: 6
        default: 1
        }
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(raw: "\\\"")
        case UInt8(ascii: "\\"): append(raw: "\\\\")
        case 0x08: append(raw: "\\b")
        case 0x09: append(raw: "\\t")
        case 0x0A: append(raw: "\\n")
        case 0x0C: append(raw: "\\f")
        case 0x0D: append(raw: "\\r")
        case 0..<0x20:
            append(raw: "\\u00")
            bytes.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
            bytes.append(contentsOf: String(byte & 15, radix: 16).utf8)
        default: bytes.append(byte)
        }
    }
}

/// The members of one object, written one after the other with commas between them.
struct JSONMembers {
    var text = JSONText()
    private(set) var count = 0

    var bytes: [UInt8] { text.bytes }
    var isEmpty: Bool { count == 0 }

    /// Appends a key; `value` writes what it stands for.
    mutating func append<Failure: Error>(
        _ key: String,
        _ value: (inout JSONText) throws(Failure) -> Void
    ) throws(Failure) {
        if !isEmpty { text.append(raw: ",") }
        text.append(key)
        text.append(raw: ":")
        try value(&text)
        count += 1
    }

    /// Appends a text, unless it is empty.
    mutating func append(_ key: String, _ value: String) {
        if !value.isEmpty { append(key) { $0.append(value) } }
    }

    /// Appends texts, unless there are none.
    mutating func append(_ key: String, _ values: [String]) {
        if !values.isEmpty { append(key) { $0.append(values) } }
    }

    /// Appends a number, unless it is nil.
    mutating func append(_ key: String, _ value: Int64?) {
        if let value { append(key) { $0.append(value) } }
    }

    /// Appends members written before, unless there are none.
    mutating func append(_ members: JSONMembers) {
        guard !members.isEmpty else { return }
        if !isEmpty { text.append(raw: ",") }
        text.append(json: members.bytes)
        count += members.count
    }
}
