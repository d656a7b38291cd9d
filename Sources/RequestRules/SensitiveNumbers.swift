/// The rule by which a number in a text is a payment card number, or a US social-security number. Pure.
///
/// A card number has 13 to 19 digits in one piece, or in groups as cards show them, with a space or a hyphen between
/// each two. Its first digits and its length are those of an issuer (``CardIssuer``), and its last digit is the right
/// check digit (Luhn, ISO/IEC 7812-1). A social-security number is `AAA-GG-SSSS`, with hyphens or spaces, unless the
/// Social Security Administration never assigns it: area 000, 666, 900 to 999, group 00, serial 0000. [ours]
///
/// Left alone, because they are other numbers:
///
/// - digits beside a letter of ASCII or `_`, as in order and tracking numbers, and digits behind a decimal point
/// - digits that hyphens join with still other groups, and a social-security number to which spaces do so
/// - what begins with `+`, a telephone number, or with two letters and two digits before a space, an IBAN
///
/// Digits that are not of ASCII are none here. One in ten numbers with the form of a card number has the right check
/// digit by chance.
package enum SensitiveNumbers {
    package enum Kind: String, Sendable, CaseIterable {
        case card = "payment card number"
        case socialSecurity = "social-security number"
    }

    package struct Finding: Sendable, Equatable {
        package let kind: Kind
        /// Offset of the first digit in the text's UTF-8.
        package let offset: Int
    }

    /// Fewest digits of such a number.
    package static let fewestDigits = 9

    /// The first such number in a text; nil: there is none. Takes time linear in the text's length.
    package static func first(in text: String) -> Finding? {
        var text = text
        return text.withUTF8 { first(in: UnsafeRawBufferPointer($0)) }
    }

    private static func first(in text: UnsafeRawBufferPointer) -> Finding? {
        let groups = DigitGroups(text)
        var position = 0
        /// Joins the next group to the one before.
        var before = DigitGroups.Joint.none
        var isOther = false
        while let start = groups.start(from: position) {
            if before.kind == nil { isOther = groups.beginOtherNumber(at: start) }
            if !isOther, before.kind != .hyphen, groups.beginAlone(at: start) {
                if isCard(groups, start) { return Finding(kind: .card, offset: start) }
                if isSocialSecurityNumber(groups, start, isFirst: before.kind == nil) {
                    return Finding(kind: .socialSecurity, offset: start)
                }
            }
            let end = groups.end(of: start)
            before = groups.joint(at: end)
            position = end + before.bytes
        }
        return nil
    }

    /// A card number begins at a group of digits. Looks at 20 digits at most.
    private static func isCard(_ groups: DigitGroups, _ start: Int) -> Bool {
        var number = CardNumber()
        var position = start
        var kind: DigitGroups.Joint.Kind?
        while true {
            while let digit = groups.digit(at: position) {
                guard number.append(digit) else { return false }
                position += 1
            }
            if number.isValid, groups.endAlone(at: position) { return true }
            let next = groups.joint(at: position)
            guard next.kind != nil, kind == nil || next.kind == kind, number.endGroup() else { return false }
            kind = next.kind
            position += next.bytes
        }
    }

    /// A social-security number begins at a group of digits.
    ///
    /// - Parameter isFirst: nothing joins the group to another one before.
    private static func isSocialSecurityNumber(_ groups: DigitGroups, _ start: Int, isFirst: Bool) -> Bool {
        guard let area = groups.number(at: start, digits: 3) else { return false }
        let first = groups.joint(at: start + 3)
        let middle = start + 3 + first.bytes
        guard let kind = first.kind, let group = groups.number(at: middle, digits: 2) else { return false }
        let second = groups.joint(at: middle + 2)
        let last = middle + 2 + second.bytes
        guard second.kind == kind, let serial = groups.number(at: last, digits: 4) else { return false }
        guard groups.endAlone(at: last + 4) else { return false }
        if kind == .space, !isFirst || groups.joint(at: last + 4).kind != nil { return false }
        return area != 0 && area != 666 && area < 900 && group != 0 && serial != 0
    }
}
