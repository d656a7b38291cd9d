extension PayloadPass {
    /// Reads a string from its opening to its closing quotation mark.
    ///
    /// - Returns: whether the string contains escapes. One that follows a character outside ASCII need not be told: no
    ///   key that is looked for has such a character.
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
            case UInt8(ascii: "\\"), 0x80..., ..<0x20:
                if byte == UInt8(ascii: "\\") { hasEscapes = true }
                position = try characters.endOfSpecialCharacters(position)
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

    /// The key between two offsets is `aps`, written plainly or with `\u` escapes.
    @inline(__always)
    func keyIsAps(from start: Int, to end: Int, hasEscapes: Bool) -> Bool {
        if !hasEscapes {
            return end - start == 3 && input.byte(at: start) == UInt8(ascii: "a")
                && input.byte(at: start + 1) == UInt8(ascii: "p") && input.byte(at: start + 2) == UInt8(ascii: "s")
        }
        return characters.isEscapedKey(start, end, "aps")
    }

    @inline(__always)
    private var characters: JSONCharacters { JSONCharacters(input, count: count) }
}
