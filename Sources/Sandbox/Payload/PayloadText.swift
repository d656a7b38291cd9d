import APNsProtocol

/// The bytes of a payload, and where the things in it end (RFC 8259). Functions that search for an end return -1 when
/// what they find is invalid.
struct PayloadText {
    let start: UnsafeRawPointer
    let count: Int

    @inline(__always)
    func byte(_ offset: Int) -> UInt8 {
        start.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// - Returns: the first position from this one on that is not white space, at most ``count``.
    @inline(__always)
    func skipWhiteSpace(_ position: Int) -> Int {
        // Every white space character is at most a space: one comparison for the usual case.
        guard position < count, byte(position) <= UInt8(ascii: " ") else { return position }
        return endOfWhiteSpace(position)
    }

    @inline(never)
    private func endOfWhiteSpace(_ from: Int) -> Int {
        var position = from
        while position < count {
            switch byte(position) {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return position
            }
        }
        return position
    }

    /// The end of one of the three literals.
    @inline(never)
    func endOfLiteral(_ position: Int) -> Int {
        if begins(position, "true") { return position + 4 }
        if begins(position, "false") { return position + 5 }
        return begins(position, "null") ? position + 4 : -1
    }

    /// The end of a number: `-`? (`0` | `1`-`9` digits) (`.` digits)? (`e` sign? digits)?
    @inline(__always)
    func endOfNumber(_ position: Int) -> Int {
        let first = byte(position) == UInt8(ascii: "-") ? position &+ 1 : position
        let end = endOfDigits(first)
        guard end > first, byte(first) != UInt8(ascii: "0") || end == first &+ 1 else { return -1 }
        guard end < count, byte(end) == UInt8(ascii: ".") || byte(end) | 0x20 == UInt8(ascii: "e") else { return end }
        return endOfFraction(end)
    }

    @inline(never)
    private func endOfFraction(_ from: Int) -> Int {
        var position = from
        if byte(position) == UInt8(ascii: ".") {
            position = endOfDigits(from + 1)
            guard position > from + 1 else { return -1 }
        }
        // 0x20 is the difference between the cases.
        guard position < count, byte(position) | 0x20 == UInt8(ascii: "e") else { return position }
        position += 1
        if position < count, byte(position) == UInt8(ascii: "+") || byte(position) == UInt8(ascii: "-") {
            position += 1
        }
        let end = endOfDigits(position)
        return end > position ? end : -1
    }

    @inline(__always)
    private func endOfDigits(_ from: Int) -> Int {
        var position = from
        while position < count, byte(position) &- UInt8(ascii: "0") < 10 { position &+= 1 }
        return position
    }

    @inline(__always)
    private func begins(_ position: Int, _ text: StaticString) -> Bool {
        guard count &- position >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where byte(position &+ index) != text.utf8Start[index] { return false }
        return true
    }
}

/// ``PayloadMark`` of what a pass has found.
extension PayloadText {
    /// - Parameter end: behind the number.
    @inline(__always)
    func mark(ofNumberAt position: Int, endingAt end: Int) -> UInt32 {
        // Ten digits fit into 64 bits.
        guard end &- position <= 10 else { return mark(ofValueAt: position) }
        var number: UInt64 = 0
        var offset = position
        while offset < end {
            let digit = byte(offset) &- UInt8(ascii: "0")
            guard digit < 10 else { return mark(ofValueAt: position) }
            number = number &* 10 &+ UInt64(digit)
            offset &+= 1
        }
        return number < 1 << 31 ? UInt32(truncatingIfNeeded: number) : mark(ofValueAt: position)
    }

    /// The mark of a value that is an integer of at most ten digits; `nil`: what stands there is none.
    ///
    /// - Parameter range: not empty, and the value ends there, whatever it is.
    @inline(__always)
    func mark(ofInteger range: Range<Int>) -> UInt32? {
        guard range.count <= 10, range.count == 1 || byte(range.lowerBound) != UInt8(ascii: "0") else { return nil }
        var number: UInt64 = 0
        for offset in range {
            let digit = byte(offset) &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &+ UInt64(digit)
        }
        return number < 1 << 31 ? UInt32(truncatingIfNeeded: number) : mark(ofValueAt: range.lowerBound)
    }

    @inline(never)
    func mark(ofValueAt position: Int) -> UInt32 {
        PayloadMark.mark(UnsafeRawBufferPointer(start: start, count: count), valueAt: position)
    }
}

/// Keys.
extension PayloadText {
    /// The key between two offsets is `name`, written plainly or with `\u` escapes.
    ///
    /// - Parameter hasEscapes: whether there are any in it; they are valid.
    @inline(__always)
    func isKey(_ start: Int, _ end: Int, _ name: StaticString, _ hasEscapes: Bool) -> Bool {
        if hasEscapes { return characters.isEscapedKey(start, end, name) }
        return end &- start == name.utf8CodeUnitCount && begins(start, name)
    }
}
