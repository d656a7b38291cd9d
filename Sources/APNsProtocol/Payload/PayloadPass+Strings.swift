extension PayloadPass {
    /// Reads a string from its opening to its closing quotation mark.
    ///
    /// - Returns: whether the string contains escapes.
    @inline(__always)
    mutating func skipString() throws(PayloadError) -> Bool {
        position += 1
        var hasEscapes = false
        while true {
            skipPlainCharacters()
            guard position < count else { throw broken(.unexpectedEnd) }
            let byte = input.byte(at: position)
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return hasEscapes
            case UInt8(ascii: "\\"):
                hasEscapes = true
                try skipEscape()
            case 0x80...:
                try skipMultibyteCharacter(byte)
            case ..<0x20:
                throw broken(.controlCharacter)
            default:
                position += 1
            }
        }
    }

    /// Passes over plain ASCII characters, eight at a time. Stops at a character with a meaning, or before the last
    /// seven bytes of the input.
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

    private mutating func skipEscape() throws(PayloadError) {
        let start = position
        position += 1
        guard position < count else { throw broken(.unexpectedEnd) }
        switch input.byte(at: position) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            let unit = try readCodeUnit()
            if (0xDC00...0xDFFF).contains(unit) {
                throw PayloadError(rule: .unpairedSurrogate, offset: start)
            }
            if (0xD800...0xDBFF).contains(unit) {
                try skipLowSurrogate(highSurrogateOffset: start)
            }
        default:
            throw broken(.invalidEscape)
        }
    }

    private mutating func skipLowSurrogate(highSurrogateOffset: Int) throws(PayloadError) {
        let unpaired = PayloadError(rule: .unpairedSurrogate, offset: highSurrogateOffset)
        guard count - position >= 2, input.byte(at: position) == UInt8(ascii: "\\"),
            input.byte(at: position + 1) == UInt8(ascii: "u")
        else { throw unpaired }
        position += 2
        guard (0xDC00...0xDFFF).contains(try readCodeUnit()) else { throw unpaired }
    }

    /// The four digits of a `\u` escape.
    private mutating func readCodeUnit() throws(PayloadError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard position < count, let digit = Hex.value(input.byte(at: position)) else {
                throw broken(.invalidEscape)
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    /// Reads a character of two to four bytes (Unicode 15, table 3-7, "well-formed UTF-8 byte sequences").
    private mutating func skipMultibyteCharacter(_ lead: UInt8) throws(PayloadError) {
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
        default: throw broken(.invalidUTF8)
        }
        guard count - position >= length, second.contains(input.byte(at: position + 1)) else {
            throw broken(.invalidUTF8)
        }
        for offset in 2..<max(2, length) {
            guard input.byte(at: position + offset) & 0xC0 == 0x80 else { throw broken(.invalidUTF8) }
        }
        position += length
    }

    /// The key between two offsets is `aps`, written plainly or with `\u` escapes.
    @inline(__always)
    func keyIsAps(from start: Int, to end: Int, hasEscapes: Bool) -> Bool {
        if !hasEscapes {
            return end - start == 3 && input.byte(at: start) == UInt8(ascii: "a")
                && input.byte(at: start + 1) == UInt8(ascii: "p") && input.byte(at: start + 2) == UInt8(ascii: "s")
        }
        return escapedKeyIsAps(from: start, to: end)
    }

    /// - Precondition: the key has passed ``skipString()``: its escapes are whole.
    private func escapedKeyIsAps(from start: Int, to end: Int) -> Bool {
        var offset = start
        for letter in [UInt8(ascii: "a"), UInt8(ascii: "p"), UInt8(ascii: "s")] {
            guard offset < end else { return false }
            if input.byte(at: offset) == letter {
                offset += 1
            } else if input.byte(at: offset) == UInt8(ascii: "\\"), escapedUnit(at: offset) == UInt16(letter) {
                offset += 6
            } else {
                return false
            }
        }
        return offset == end
    }

    /// The code unit of the escape at `offset`, or `nil` for one of the short escapes, none of which is a letter.
    private func escapedUnit(at offset: Int) -> UInt16? {
        guard input.byte(at: offset + 1) == UInt8(ascii: "u") else { return nil }
        return (2..<6).reduce(0) { unit, index in
            unit << 4 | UInt16(Hex.value(input.byte(at: offset + index)) ?? 0)
        }
    }
}
