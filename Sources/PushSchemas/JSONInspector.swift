/// Walks a value in the JSON mapping along the shape of its message: finds the first thing that is wrong, with the way
/// to it, the finding and the cure; and the tokens that are plain strings.
///
/// Only of values that could not be decoded. Holds nothing of a value beyond names of fields.
final class JSONInspector {
    typealias Fault = JSONScanner.Fault

    /// The longest key of a map that is told as it is.
    private static let keyBytes = 64

    /// Plain strings in place of tokens, with their quotes; in order.
    private(set) var plainStrings: [(text: Range<Int>, field: String)] = []
    private let bytes: UnsafeRawBufferPointer

    /// Walks through the whole value.
    ///
    /// - Returns: the first fault; nil: none is known.
    static func inspect(_ bytes: UnsafeRawBufferPointer, _ shape: JSONMessageShape) -> (JSONInspector, Fault?) {
        let inspector = JSONInspector(bytes: bytes)
        do throws(Fault) {
            var scanner = JSONScanner(bytes)
            let kind = try scanner.kind()
            guard kind == .object else {
                throw Fault(finding: "it is \(kind.rawValue); an object is allowed, with the fields of \(shape.name)")
            }
            try inspector.readMessage(&scanner, shape, "", depth: 1)
            try scanner.readEnd()
            return (inspector, nil)
        } catch {
            return (inspector, error)
        }
    }

    private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The value with each plain string as the object that it stands for.
    func withoutPlainStrings() -> [UInt8] {
        var mended: [UInt8] = []
        mended.reserveCapacity(bytes.count + plainStrings.count * 9)
        var position = 0
        for (text, field) in plainStrings {
            mended += bytes[position..<text.lowerBound]
            mended += "{\"\(field)\":".utf8
            mended += bytes[text]
            mended.append(UInt8(ascii: "}"))
            position = text.upperBound
        }
        mended += bytes[position...]
        return mended
    }

    // MARK: Values

    /// - Parameters:
    ///   - path: of the message, empty or with a point at its end.
    ///   - depth: of the message itself; the value is 1.
    private func readMessage(
        _ scanner: inout JSONScanner,
        _ shape: JSONMessageShape,
        _ path: String,
        depth: Int
    ) throws(Fault) {
        var alternative: String?
        try scanner.readObject { scanner, key throws(Fault) in
            guard let name = name(key) else { return try scanner.skipValue(depth: depth + 1) }
            guard let field = shape.field(name) else {
                guard !path.isEmpty || !isCloudEvent else { throw Fault(finding: Self.cloudEvent) }
                throw Fault(finding: "'\(path)\(printable(name))' is no field\(Self.cure(of: name, in: shape))")
            }
            let kind = try scanner.kind()
            guard kind != .null else { return try scanner.readWord() }
            if shape.alternatives.contains(field.name) {
                if let other = alternative, other != name {
                    throw Fault(finding: "'\(path)\(name)' is set beside '\(other)'; one of the two is allowed")
                }
                alternative = name
            }
            try read(&scanner, field.shape, path + name, field.name, depth: depth + 1)
        }
    }

    /// - Parameters:
    ///   - path: of the value, as the publisher wrote it.
    ///   - field: the schema's name of the field that the value stands in.
    private func read(
        _ scanner: inout JSONScanner,
        _ shape: JSONShape,
        _ path: String,
        _ field: String,
        depth: Int
    ) throws(Fault) {
        guard depth <= JSONScanner.depthLimit else {
            throw Fault(finding: "'\(path)' is nested deeper than \(JSONScanner.depthLimit) levels")
        }
        let kind = try scanner.kind()
        func wrong(_ found: String? = nil) -> Fault {
            // A number where numbers are allowed is too large, or broken: no other form would cure it.
            let isWrongForm = found == nil || kind != .number
            let cure = isWrongForm ? Self.cures[field].flatMap { $0[kind] }.map { ": " + $0 } ?? "" : ""
            return Fault(finding: "'\(path)' is \(found ?? kind.rawValue); \(Self.allowed(shape)) is allowed\(cure)")
        }
        switch shape {
        case .message(let message):
            if kind == .text, let plain = message.plainString {
                let text = try scanner.readText()
                plainStrings.append((text.lowerBound - 1..<text.upperBound + 1, plain))
                return
            }
            guard kind == .object else { throw wrong() }
            try readMessage(&scanner, message, path + ".", depth: depth)
        case .list(let element):
            guard kind == .list else { throw wrong() }
            try scanner.readList { scanner, index throws(Fault) in
                let path = "\(path)[\(index)]"
                guard try scanner.kind() != .null else { throw Fault(finding: "'\(path)' is null") }
                try read(&scanner, element, path, field, depth: depth + 1)
            }
        case .map(let element):
            guard kind == .object else { throw wrong() }
            try scanner.readObject { scanner, key throws(Fault) in
                // A key may be as long as the record, and each field inside has the path to it.
                let key = key.count <= Self.keyBytes ? name(key).map(printable) : nil
                let path = "\(path).\(key ?? "…")"
                guard try scanner.kind() != .null else { throw Fault(finding: "'\(path)' is null") }
                try read(&scanner, element, path, field, depth: depth + 1)
            }
        case .object:
            guard kind == .object else { throw wrong() }
            try scanner.skipValue(depth: depth)
        case .text:
            guard kind == .text else { throw wrong() }
            _ = try scanner.readText()
        case .bytes:
            guard kind == .text else { throw wrong() }
            guard isBase64(try scanner.readText()) else { throw wrong("a text that is no base64") }
        case .flag:
            guard kind == .flag else { throw wrong() }
            try scanner.readWord()
        case .choice(_, let names):
            guard kind != .number else {
                // A number that no name has is for the rules of the message.
                guard isNumber(bytes[try scanner.readNumber()], .number32) else { throw wrong("another number") }
                return
            }
            guard kind == .text else { throw wrong() }
            guard let name = name(try scanner.readText()), names.contains(name) else { throw wrong("another text") }
        case .number32, .signed32, .number64, .fraction:
            guard kind == .number || kind == .text else { throw wrong() }
            let text = kind == .number ? try scanner.readNumber() : try scanner.readText()
            guard isNumber(bytes[text], shape) else { throw wrong(kind == .text ? "another text" : "another number") }
        }
    }

    private static func allowed(_ shape: JSONShape) -> String {
        switch shape {
        case .text: "a text"
        case .bytes: "base64"
        case .number32: "a whole number from 0 to \(UInt32.max)"
        case .signed32: "a whole number from \(Int32.min) to \(Int32.max)"
        case .number64: "a whole number"
        case .fraction: "a number"
        case .flag: "true or false"
        case .choice(_, let names): "one of " + names.joined(separator: ", ")
        case .message, .map, .object: "an object"
        case .list: "a list"
        }
    }

    // MARK: Cures

    /// By the schema's name of a field and the kind of value found there: the way to say what was meant.
    private static let cures: [String: [JSONScanner.Kind: String]] = [
        "payload_json": [.object: "quote it, or use 'notification'"],
        "payload": [
            .object: "put it, quoted, into 'payloadJson', or use 'notification'",
            .text: "text belongs into 'payloadJson'",
        ],
        "tokens": [
            .text: "put it into brackets", .object: "put it into brackets",
            .number: "quote it, and put it into brackets",
        ],
        "packed_tokens": [.list: "use 'tokens'", .text: "hexadecimal digits belong into 'tokens'"],
        "raw": [.text: "hexadecimal digits belong into 'hex'"],
        "alert": [.text: "write {\"body\": …}"],
        "localizations": [.text: "write {\"body\": …}"],
        "badge": [.number: "write {\"set\": …} or {\"add\": 1}"],
        "sound": [.text: "write {\"name\": …}", .flag: "write {}"],
        "expiration": [.text: "UNIX seconds"],
        "registered_at": [.text: "UNIX seconds"],
    ]

    /// The words behind the name of a field that does not exist: the one that was meant, or all.
    private static func cure(of name: String, in shape: JSONMessageShape) -> String {
        if name == "aps" { return ": the payload belongs, quoted, into 'payloadJson'" }
        func plain(_ text: String) -> String { text.lowercased().filter { $0 != "_" && $0 != "-" } }
        let wanted = plain(name)
        let near =
            shape.fields.first { plain($0.name) == wanted }
            ?? shape.fields.first { field in
                let known = plain(field.name)
                return wanted.count > 2 && (known.hasPrefix(wanted) || wanted.hasPrefix(known))
            }
        if let near { return ": '\(JSONMessageShape.jsonName(near.name))' is one" }
        return "; allowed: " + shape.fields.map { JSONMessageShape.jsonName($0.name) }.joined(separator: ", ")
    }

    private static let cloudEvent =
        "it is an envelope of CloudEvents' structured mode; publish in binary mode: the value of 'data' alone, "
        + "with content-type application/json"

    /// The value has the version that every envelope of CloudEvents' structured mode names (CloudEvents 1.0, §3.1).
    private var isCloudEvent: Bool {
        var isThere = false
        var scanner = JSONScanner(bytes)
        // A fault behind the version leaves the value what it is.
        try? scanner.readObject { scanner, key throws(Fault) in
            if name(key) == "specversion" { isThere = true }
            try scanner.skipValue(depth: 2)
        }
        return isThere
    }

    // MARK: Texts

    /// A name without escapes; nil: it has some.
    private func name(_ text: Range<Int>) -> String? {
        guard !bytes[text].contains(UInt8(ascii: "\\")) else { return nil }
        return String(decoding: bytes[text], as: UTF8.self)
    }

    /// Base64 of either alphabet, with or without padding.
    private func isBase64(_ text: Range<Int>) -> Bool {
        let digits = bytes[text].filter { $0 != UInt8(ascii: "=") }
        return digits.count % 4 != 1
            && digits.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private func isNumber(_ text: Slice<UnsafeRawBufferPointer>, _ shape: JSONShape) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        switch shape {
        case .number32: return UInt32(text) != nil || Double(text).flatMap { UInt32(exactly: $0) } != nil
        case .signed32: return Int32(text) != nil || Double(text).flatMap { Int32(exactly: $0) } != nil
        case .number64: return Int64(text) != nil || Double(text).flatMap { Int64(exactly: $0) } != nil
        default: return Double(text)?.isFinite == true || ["NaN", "Infinity", "-Infinity"].contains(text)
        }
    }
}

extension JSONScanner.Fault {
    fileprivate init(finding: String) { self.init(offset: nil, finding: finding) }

    /// For a dead letter.
    var text: String { offset.map { "no JSON at byte \($0): \(finding)" } ?? finding }
}
