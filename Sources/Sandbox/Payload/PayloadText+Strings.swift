import APNsProtocol
import CVector

/// Marks of the bytes at which strings may end. 64 bytes of a payload are looked at in one go.
struct StringMarks {
    /// A bit for each byte that is a quotation mark, a backslash, a control character or not ASCII.
    private var marks: UInt64 = 0
    /// Of the bytes looked at, a multiple of 64. The first time nothing has been.
    private var end = 0
    /// An escape was met since this was set to false; one behind a character outside ASCII need not be told, since no
    /// key that is looked for has such a character.
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
    private func endOfSpecialCharacters(_ position: Int) -> Int {
        (try? characters.endOfSpecialCharacters(position)) ?? -1
    }

    /// The rules that the pipeline checks payloads by.
    @inline(__always)
    var characters: JSONCharacters { JSONCharacters(start, count: count) }
}
