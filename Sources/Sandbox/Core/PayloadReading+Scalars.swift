import APNsProtocol

/// Strings, numbers and literals (RFC 8259 §6 and §7).
extension PayloadReadingPass {
    /// Reads one of the three literals, whose first byte has been seen.
    mutating func skipLiteral(_ literal: StaticString) -> Bool {
        guard count - position >= literal.utf8CodeUnitCount else { return false }
        for index in 0..<literal.utf8CodeUnitCount where byte(position + index) != literal.utf8Start[index] {
            return false
        }
        position += literal.utf8CodeUnitCount
        return true
    }

    /// Reads a number: `-`? (`0` | `1`-`9` digits) (`.` digits)? (`e` sign? digits)?
    mutating func skipNumber() -> Bool {
        if byte(position) == UInt8(ascii: "-") { position += 1 }
        let start = position
        guard skipDigits() else { return false }
        if byte(start) == UInt8(ascii: "0"), position - start > 1 { return false }
        if position < count, byte(position) == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() else { return false }
        }
        // 0x20 is the difference between the cases.
        if position < count, byte(position) | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < count, byte(position) == UInt8(ascii: "+") || byte(position) == UInt8(ascii: "-") {
                position += 1
            }
            guard skipDigits() else { return false }
        }
        return true
    }

    /// At least one.
    private mutating func skipDigits() -> Bool {
        let start = position
        while position < count, byte(position) &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > start
    }

    /// Reads a string from its opening to its closing quotation mark.
    @inline(__always)
    mutating func skipString() -> Bool {
        position += 1
        while true {
            skipPlainCharacters()
            guard position < count else { return false }
            let byte = byte(position)
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return true
            case UInt8(ascii: "\\"):
                guard skipEscape() else { return false }
            case 0x80...:
                guard skipMultibyteCharacter(byte) else { return false }
            case ..<0x20:
                return false
            default:
                position += 1
            }
        }
    }

    /// Passes over ASCII characters that mean nothing, eight at a time, up to one that does or to the last seven bytes
    /// of the payload.
    ///
    /// Each mask has its bit 7 set in a byte of interest. A borrow can set it in a byte above such a byte, never below:
    /// the lowest set bit is always right.
    @inline(__always)
    private mutating func skipPlainCharacters() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while count - position >= 8 {
            let word = UInt64(littleEndian: input.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let controls = (word &- ones &* 0x20) & ~word
            let hits = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes) | controls | word
            let interesting = hits & highs
            guard interesting == 0 else {
                position += interesting.trailingZeroBitCount / 8
                return
            }
            position += 8
        }
    }

    private mutating func skipEscape() -> Bool {
        position += 1
        guard position < count else { return false }
        switch byte(position) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
            return true
        case UInt8(ascii: "u"):
            position += 1
            guard let unit = readCodeUnit(), !(0xDC00...0xDFFF).contains(unit) else { return false }
            return (0xD800...0xDBFF).contains(unit) ? skipLowSurrogate() : true
        default:
            return false
        }
    }

    private mutating func skipLowSurrogate() -> Bool {
        guard count - position >= 2, byte(position) == UInt8(ascii: "\\"), byte(position + 1) == UInt8(ascii: "u")
        else { return false }
        position += 2
        return readCodeUnit().map { (0xDC00...0xDFFF).contains($0) } ?? false
    }

    /// The four digits of a `\u` escape.
    private mutating func readCodeUnit() -> UInt16? {
        guard count - position >= 4, let unit = codeUnit(at: position) else { return nil }
        position += 4
        return unit
    }

    /// Four hexadecimal digits; the payload has to reach so far.
    private func codeUnit(at offset: Int) -> UInt16? {
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

    /// Reads a character of two to four bytes (Unicode 15, table 3-7, "well-formed UTF-8 byte sequences").
    private mutating func skipMultibyteCharacter(_ lead: UInt8) -> Bool {
        let length: Int
        // The second byte alone tells overlong forms, surrogates and code points above 10FFFF.
        let second: ClosedRange<UInt8>
        switch lead {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return false
        }
        guard count - position >= length, second.contains(byte(position + 1)) else { return false }
        for offset in 2..<max(2, length) where byte(position + offset) & 0xC0 != 0x80 { return false }
        position += length
        return true
    }

    /// Whether the key between two offsets is `name`, written plainly or with `\u` escapes.
    ///
    /// - Precondition: the key has passed ``skipString()``: its escapes are whole.
    @inline(__always)
    func isKey(_ start: Int, _ end: Int, _ name: StaticString) -> Bool {
        var offset = start
        for index in 0..<name.utf8CodeUnitCount {
            guard offset < end else { return false }
            let letter = name.utf8Start[index]
            if byte(offset) == letter {
                offset += 1
            } else if byte(offset) == UInt8(ascii: "\\"), byte(offset + 1) == UInt8(ascii: "u"),
                codeUnit(at: offset + 2) == UInt16(letter)
            {
                offset += 6
            } else {
                return false
            }
        }
        return offset == end
    }
}
