/// The groups of digits in a text, and the characters between them and around them.
///
/// Offsets count bytes. The memory belongs to the caller.
struct DigitGroups {
    /// A single character between two groups of digits.
    struct Joint {
        enum Kind {
            /// A space, also one at which no line breaks.
            case space
            case hyphen
        }

        /// Nil: nothing joins a group to the one before.
        let kind: Kind?
        /// Length of the character in UTF-8.
        let bytes: Int

        static let none = Joint(kind: nil, bytes: 0)
    }

    private let text: UnsafeRawBufferPointer

    /// - Parameter text: UTF-8, valid while the value is used.
    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    /// The digit at an offset; nil: another character, or the text's end.
    func digit(at offset: Int) -> Int? {
        guard offset < text.count, case let value = text[offset] &- UInt8(ascii: "0"), value < 10 else { return nil }
        return Int(value)
    }

    /// The beginning of the next group.
    func start(from offset: Int) -> Int? {
        (offset..<max(offset, text.count)).first { digit(at: $0) != nil }
    }

    /// The end of the group that begins at an offset.
    func end(of start: Int) -> Int {
        var end = start
        while digit(at: end) != nil { end += 1 }
        return end
    }

    /// The number of a group with so many digits; nil: the group has another length.
    func number(at start: Int, digits: Int) -> Int? {
        var number = 0
        for offset in start..<start + digits {
            guard let digit = digit(at: offset) else { return nil }
            number = number * 10 + digit
        }
        return digit(at: start + digits) == nil ? number : nil
    }

    /// The joint between the group that ends at an offset and the next one.
    func joint(at end: Int) -> Joint {
        let joint = character(at: end)
        return joint.kind != nil && digit(at: end + joint.bytes) != nil ? joint : .none
    }

    private func character(at offset: Int) -> Joint {
        guard offset < text.count else { return .none }
        switch text[offset] {
        case UInt8(ascii: " "): return Joint(kind: .space, bytes: 1)
        case UInt8(ascii: "-"): return Joint(kind: .hyphen, bytes: 1)
        // U+00A0, the no-break space.
        case 0xC2 where byte(at: offset + 1) == 0xA0: return Joint(kind: .space, bytes: 2)
        case 0xE2 where byte(at: offset + 1) == 0x80:
            switch byte(at: offset + 2) {
            // U+2009, the thin space, and U+202F, which is as narrow.
            case 0x89?, 0xAF?: return Joint(kind: .space, bytes: 3)
            // U+2010 to U+2013: hyphens and the short dashes.
            case 0x90?, 0x91?, 0x92?, 0x93?: return Joint(kind: .hyphen, bytes: 3)
            default: return .none
            }
        default: return .none
        }
    }

    // MARK: Around

    /// The group does not continue a word or a fraction.
    func beginAlone(at start: Int) -> Bool {
        guard let before = byte(at: start - 1) else { return true }
        if before == UInt8(ascii: "."), start > 1, digit(at: start - 2) != nil { return false }
        return !Self.isOfWord(before)
    }

    /// The group that ends at an offset goes on neither as a word nor behind a hyphen.
    func endAlone(at end: Int) -> Bool {
        if let next = byte(at: end), Self.isOfWord(next) { return false }
        return joint(at: end).kind != .hyphen
    }

    /// The group, which nothing joins to one before, and all that are joined to it are no number that is looked for.
    func beginOtherNumber(at start: Int) -> Bool {
        byte(at: start - 1) == UInt8(ascii: "+") || beginIBAN(at: start)
    }

    /// An IBAN as people write it: a country's two letters, two digits, a space, and groups of four (ISO 13616-1).
    private func beginIBAN(at start: Int) -> Bool {
        guard start >= 2, Self.isCapital(text[start - 1]), Self.isCapital(text[start - 2]) else { return false }
        if let before = byte(at: start - 3), Self.isOfWord(before) { return false }
        return end(of: start) == start + 2 && joint(at: start + 2).kind == .space
    }

    private func byte(at offset: Int) -> UInt8? {
        text.indices.contains(offset) ? text[offset] : nil
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isCapital(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
