/// The characters of a JSON string that are more than one plain byte (RFC 8259 §7): escapes, and those that are not
/// ASCII. Every pass over a payload uses these rules, and has a fast way of its own over the plain characters.
///
/// Offsets count bytes from the beginning of the text. The memory belongs to the caller, which keeps it valid.
public struct JSONCharacters {
    @usableFromInline let input: UnsafeRawPointer
    @usableFromInline let count: Int

    /// - Parameter count: the text's length in bytes; nothing behind it is read.
    @inlinable
    public init(_ input: UnsafeRawPointer, count: Int) {
        self.input = input
        self.count = count
    }

    /// Passes over escapes and characters that are not ASCII, as many as there are in a row.
    ///
    /// - Parameter first: offset of the first one, inside a string.
    /// - Returns: the offset behind the last one, at most the text's length.
    /// - Throws: the first broken rule: `controlCharacter`, `invalidEscape`, `unpairedSurrogate`, `invalidUTF8`, or
    ///   `unexpectedEnd` for an escape that the text's end cuts.
    @inline(never)
    public func endOfSpecialCharacters(_ first: Int) throws(PayloadError) -> Int {
        var position = first
        while position < count {
            switch input.byte(at: position) {
            case UInt8(ascii: "\\"): position = try endOfEscape(position)
            case 0x80...: position = try endOfMultibyteCharacter(position)
            case ..<0x20: throw broken(.controlCharacter, at: position)
            default: return position
            }
        }
        return position
    }

    /// The key between two offsets, which has escapes, is `name`.
    ///
    /// - Precondition: ``endOfSpecialCharacters(_:)`` has accepted the escapes.
    /// - Parameter name: nothing but letters of ASCII and hyphens, for which there are no short escapes.
    @inline(never)
    public func isEscapedKey(_ start: Int, _ end: Int, _ name: StaticString) -> Bool {
        var offset = start
        for index in 0..<name.utf8CodeUnitCount {
            guard offset < end else { return false }
            let letter = name.utf8Start[index]
            if input.byte(at: offset) == letter {
                offset += 1
            } else if input.byte(at: offset) == UInt8(ascii: "\\"), escapedUnit(offset) == UInt16(letter) {
                offset += 6
            } else {
                return false
            }
        }
        return offset == end
    }

    private func endOfEscape(_ backslash: Int) throws(PayloadError) -> Int {
        let kind = backslash + 1
        guard kind < count else { throw broken(.unexpectedEnd, at: kind) }
        switch input.byte(at: kind) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return kind + 1
        case UInt8(ascii: "u"):
            let unit = try codeUnit(kind + 1)
            if (0xDC00...0xDFFF).contains(unit) { throw PayloadError(rule: .unpairedSurrogate, offset: backslash) }
            guard (0xD800...0xDBFF).contains(unit) else { return kind + 5 }
            return try endOfLowSurrogate(kind + 5, highSurrogate: backslash)
        default:
            throw broken(.invalidEscape, at: kind)
        }
    }

    private func endOfLowSurrogate(_ backslash: Int, highSurrogate: Int) throws(PayloadError) -> Int {
        let unpaired = PayloadError(rule: .unpairedSurrogate, offset: highSurrogate)
        guard count - backslash >= 2, input.byte(at: backslash) == UInt8(ascii: "\\"),
            input.byte(at: backslash + 1) == UInt8(ascii: "u")
        else { throw unpaired }
        guard (0xDC00...0xDFFF).contains(try codeUnit(backslash + 2)) else { throw unpaired }
        return backslash + 6
    }

    /// The four digits of a `\u` escape.
    private func codeUnit(_ first: Int) throws(PayloadError) -> UInt16 {
        var unit: UInt16 = 0
        for position in first..<first + 4 {
            guard position < count, let digit = Hex.value(input.byte(at: position)) else {
                throw broken(.invalidEscape, at: position)
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// A character of two to four bytes (Unicode 15, table 3-7, "well-formed UTF-8 byte sequences").
    private func endOfMultibyteCharacter(_ position: Int) throws(PayloadError) -> Int {
        let length: Int
        // The second byte alone tells overlong forms, surrogates and code points above 10FFFF.
        let second: ClosedRange<UInt8>
        switch input.byte(at: position) {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw broken(.invalidUTF8, at: position)
        }
        guard count - position >= length, second.contains(input.byte(at: position + 1)) else {
            throw broken(.invalidUTF8, at: position)
        }
        for offset in 2..<max(2, length) {
            guard input.byte(at: position + offset) & 0xC0 == 0x80 else { throw broken(.invalidUTF8, at: position) }
        }
        return position + length
    }

    /// The code unit of the escape at `offset`, or `nil` for one of the short escapes.
    private func escapedUnit(_ offset: Int) -> UInt16? {
        guard input.byte(at: offset + 1) == UInt8(ascii: "u") else { return nil }
        return (2..<6).reduce(0) { unit, index in
            unit << 4 | UInt16(Hex.value(input.byte(at: offset + index)) ?? 0)
        }
    }

    /// The error for the byte at `position`, or for a text that ends there.
    private func broken(_ rule: PayloadRule, at position: Int) -> PayloadError {
        PayloadError(rule: position < count ? rule : .unexpectedEnd, offset: position)
    }
}
