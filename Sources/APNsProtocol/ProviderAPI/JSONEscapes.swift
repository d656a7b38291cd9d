/// The escapes in strings of JSON (RFC 8259 §7).
enum JSONEscapes {
    /// The text of a string's content; nil for an invalid escape, half a surrogate pair or invalid UTF-8.
    static func resolved(_ content: UnsafeRawBufferPointer) -> String? {
        var rest = content[...]
        var text: [UInt8] = []
        text.reserveCapacity(content.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let letter = rest.popFirst() else { return nil }
            if letter == UInt8(ascii: "u") {
                guard let scalar = Self.scalar(&rest) else { return nil }
                text.append(contentsOf: UTF8.encode(scalar)!)
            } else {
                guard let plain = Self.plain(letter) else { return nil }
                text.append(plain)
            }
        }
        return String(validating: text, as: UTF8.self)
    }

    /// The character that a letter behind a backslash stands for.
    private static func plain(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Reads what follows `\u`: four digits, and for a high surrogate a second escape.
    private static func scalar(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Unicode.Scalar? {
        guard let unit = codeUnit(&rest) else { return nil }
        guard (0xD800...0xDBFF).contains(unit) else { return Unicode.Scalar(unit) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"),
            let low = codeUnit(&rest), (0xDC00...0xDFFF).contains(low)
        else { return nil }
        return Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    }

    private static func codeUnit(_ rest: inout Slice<UnsafeRawBufferPointer>) -> UInt32? {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = rest.popFirst(), let digit = Hex.value(byte) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }
}
