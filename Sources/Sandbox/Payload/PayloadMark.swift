import Glibc

/// Tells the notifications to one device apart. The mark is the custom payload key `n`, as 32 bits.
///
/// - An integer of 0..<2³¹ is itself.
/// - Any other value is a hash of its bytes with the highest bit set: unequal values of one device are taken for equal
///   with a probability of 2⁻³¹.
/// - A payload without the key has the mark ``absent``.
///
/// Only the key at the top level counts, written without escapes. The payload need not be valid JSON: the gateway
/// accepts what it cannot parse [talk]; the mark is then what could be made out of it.
enum PayloadMark {
    static let absent = UInt32.max

    /// - Parameter payload: valid during the call.
    static func read(_ payload: UnsafeRawBufferPointer) -> UInt32 {
        var depth = 0
        var offset = 0
        while offset < payload.count {
            switch payload[offset] {
            case UInt8(ascii: "\""):
                let end = endOfString(payload, from: offset)
                if depth == 1, end - offset == 3, payload[offset + 1] == UInt8(ascii: "n") {
                    let colon = skipWhiteSpace(payload, from: end)
                    if colon < payload.count, payload[colon] == UInt8(ascii: ":") {
                        return mark(payload, valueAt: skipWhiteSpace(payload, from: colon + 1))
                    }
                }
                offset = end
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                offset += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                offset += 1
            default:
                offset += 1
            }
        }
        return absent
    }

    /// The mark of the value that begins at `start`, which may be the end of the payload.
    static func mark(_ payload: UnsafeRawBufferPointer, valueAt start: Int) -> UInt32 {
        let end = endOfValue(payload, from: start)
        guard start < end else { return absent }
        var number: UInt64 = 0
        for offset in start..<end {
            let digit = payload[offset] &- UInt8(ascii: "0")
            guard digit <= 9, number < 1 << 31 else { return hash(payload, start..<end) }
            number = number * 10 + UInt64(digit)
        }
        return number < 1 << 31 ? UInt32(number) : hash(payload, start..<end)
    }

    private static func hash(_ payload: UnsafeRawBufferPointer, _ range: Range<Int>) -> UInt32 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for offset in range {
            hash = (hash ^ UInt64(payload[offset])) &* 0x100_0000_01b3
        }
        let folded = UInt32(truncatingIfNeeded: hash ^ hash >> 32) | 1 << 31
        return folded == absent ? absent - 1 : folded
    }

    /// The end of a number, literal, string, array or object, without trailing white space.
    private static func endOfValue(_ payload: UnsafeRawBufferPointer, from start: Int) -> Int {
        var depth = 0
        var offset = start
        while offset < payload.count {
            switch payload[offset] {
            case UInt8(ascii: "\""):
                offset = endOfString(payload, from: offset)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return offset }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0:
                return offset
            case let byte where depth == 0 && isWhiteSpace(byte):
                return offset
            default:
                break
            }
            offset += 1
        }
        return offset
    }

    /// Behind the closing quotation mark, or the end of an unfinished string.
    ///
    /// Most bytes of a payload are inside strings, and this is on the way of every notification: so quotation marks
    /// are searched for, and only then is it asked whether they are escaped.
    private static func endOfString(_ payload: UnsafeRawBufferPointer, from quote: Int) -> Int {
        guard let base = payload.baseAddress else { return payload.count }
        var offset = quote + 1
        while let found = memchr(base + offset, Int32(UInt8(ascii: "\"")), payload.count - offset) {
            let mark = UnsafeRawPointer(found) - base
            var escape = mark
            while escape > quote + 1, payload[escape - 1] == UInt8(ascii: "\\") { escape -= 1 }
            // Backslashes escape each other; an odd one is left for the mark.
            if (mark - escape).isMultiple(of: 2) { return mark + 1 }
            offset = mark + 1
        }
        return payload.count
    }

    private static func skipWhiteSpace(_ payload: UnsafeRawBufferPointer, from start: Int) -> Int {
        var offset = start
        while offset < payload.count, isWhiteSpace(payload[offset]) { offset += 1 }
        return offset
    }

    @inline(__always)
    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
