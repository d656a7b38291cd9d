import CVector

/// Marks of the bytes at which strings may end. 64 bytes of a payload are looked at in one go.
struct StringMarks {
    /// A bit for each byte that is a quotation mark, a backslash, a control character or not ASCII.
    private var marks: UInt64 = 0
    /// Of the bytes looked at, a multiple of 64. The first time nothing has been.
    private var end = 0
    /// An escape was met since this was set to false.
    var hasMetEscape = false

    /// The first marked byte from `position` on, or the length of the text.
    @inline(__always)
    mutating func next(in text: PayloadText, from position: Int) -> Int {
        var position = position
        while position < text.count {
            if position >= end {
                let start = position & ~63
                marks = belfry_string_marks(text.start, start, text.count)
                end = start &+ 64
            }
            let rest = marks &>> UInt64(truncatingIfNeeded: position)
            if rest != 0 { return position &+ rest.trailingZeroBitCount }
            position = end
        }
        return text.count
    }
}

/// Strings (RFC 8259 §7).
extension PayloadText {
    /// Behind the closing quotation mark of the string whose first character is at `position`.
    @inline(__always)
    func endOfString(_ position: Int, _ marks: inout StringMarks) -> Int {
        var position = position
        while true {
            position = marks.next(in: self, from: position)
            guard position < count else { return -1 }
            if byte(position) == UInt8(ascii: "\"") { return position &+ 1 }
            if byte(position) == UInt8(ascii: "\\") { marks.hasMetEscape = true }
            position = endOfSpecialCharacters(position)
            guard position >= 0 else { return -1 }
        }
    }

    /// Escapes and characters that are not ASCII, as many as there are in a row.
    @inline(never)
    private func endOfSpecialCharacters(_ from: Int) -> Int {
        var position = from
        while position >= 0, position < count {
            switch byte(position) {
            case UInt8(ascii: "\\"): position = endOfEscape(position)
            case 0x80...: position = endOfMultibyteCharacter(position)
            case ..<0x20: return -1
            default: return position
            }
        }
        return position
    }

    private func endOfEscape(_ backslash: Int) -> Int {
        let kind = backslash + 1
        guard kind < count else { return -1 }
        switch byte(kind) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return kind + 1
        case UInt8(ascii: "u"):
            guard let unit = codeUnit(kind + 1), !(0xDC00...0xDFFF).contains(unit) else { return -1 }
            return (0xD800...0xDBFF).contains(unit) ? endOfLowSurrogate(kind + 5) : kind + 5
        default:
            return -1
        }
    }

    private func endOfLowSurrogate(_ backslash: Int) -> Int {
        guard count - backslash >= 2, byte(backslash) == UInt8(ascii: "\\"), byte(backslash + 1) == UInt8(ascii: "u"),
            let unit = codeUnit(backslash + 2), (0xDC00...0xDFFF).contains(unit)
        else { return -1 }
        return backslash + 6
    }

    /// The four hexadecimal digits of a `\u` escape, if they are there.
    func codeUnit(_ offset: Int) -> UInt16? {
        guard count - offset >= 4 else { return nil }
        var unit: UInt16 = 0
        for index in 0..<4 {
            let digit = byte(offset + index)
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return unit
    }

    /// A character of two to four bytes (Unicode 15, table 3-7, "well-formed UTF-8 byte sequences").
    private func endOfMultibyteCharacter(_ position: Int) -> Int {
        let length: Int
        // The second byte alone tells overlong forms, surrogates and code points above 10FFFF.
        let second: ClosedRange<UInt8>
        switch byte(position) {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return -1
        }
        guard count - position >= length, second.contains(byte(position + 1)) else { return -1 }
        for offset in 2..<max(2, length) where byte(position + offset) & 0xC0 != 0x80 { return -1 }
        return position + length
    }
}
