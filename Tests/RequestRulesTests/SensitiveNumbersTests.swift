import TestSupport
import Testing

@testable import RequestRules

@Suite("Payment card and social-security numbers are found, and other numbers are left alone")
struct SensitiveNumbersTests {
    private func first(_ text: String) -> SensitiveNumbers.Finding? { SensitiveNumbers.first(in: text) }

    @Test(
        "A card number is found in one piece and in the groups of its card",
        arguments: [
            "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "4222222222222", "4222 2222 2222 2",
            "5555 5555 5555 4444", "2223 0031 2200 3222", "3782 822463 10005", "371449635398431", "3714-496353-98431",
            "30569309025904", "3056 930902 5904", "6011 1111 1111 1117", "3530-1113-3330-0000", "6200000000000005",
            "6205500000000000004", "620550 0000000000004", "6205 5000 0000 0000 004", "6759649826438453",
        ]
    )
    func cards(number: String) {
        #expect(first(number) == .init(kind: .card, offset: 0))
        #expect(first("Your card \(number), valid until 12/27") == .init(kind: .card, offset: 10))
        #expect(first("(\(number))")?.offset == 1)
        #expect(first("Karte: \(number).")?.kind == .card)
        #expect(first("卡号\(number)，谢谢") == .init(kind: .card, offset: 6), "no space stands between words there")
        #expect(first("2 \(number)") == .init(kind: .card, offset: 2))
    }

    @Test("A card number with other spaces and hyphens than those of ASCII is found")
    func otherJoints() {
        for joint in ["\u{A0}", "\u{2009}", "\u{202F}", "\u{2010}", "\u{2011}", "\u{2013}"] {
            let number = ["4111", "1111", "1111", "1111"].joined(separator: joint)
            #expect(first("x \(number)") == .init(kind: .card, offset: 2), "\(joint.unicodeScalars)")
        }
    }

    @Test(
        "Other numbers are no card numbers",
        arguments: [
            // The check digit, the length, the issuer.
            "4111111111111112", "41111111111111114", "1111111111111117", "9111111111111111", "0000000000000000",
            // Parts of something else.
            "41111111111111111111", "X4111111111111111", "4111111111111111x", "ORDER_4111111111111111",
            "0.4111111111111111", "12-4111111111111111", "4111-1111-1111-1111-22", "4111111111111111-2",
            "2024-4111-1111-1111-1111", "+4111111111111111", "+41 4111 1111 1111 1111",
            // Joints that people do not write.
            "4111  1111  1111  1111", "4111-1111 1111-1111", "4111.1111.1111.1111", "4111\n1111\n1111\n1111",
            "41 11 11 11 11 11 11 11", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "411111 1111 111111", "4111 11111111 1111",
            // An IBAN, tracking numbers, a telephone number, a time, a UUID, digits of other scripts.
            "DE41 1111 1111 1111 1111 00", "AT54 4111 1111 1111 1111", "1Z9999999999999999",
            "9400 1000 0000 0000 0000 00", "+49 4111 111111111", "2026-11-26 07:38:17.123456",
            "550e8400-e29b-41d4-a716-446655440000", "４１１１１１１１１１１１１１１１", "٤١١١١١١١١١١١١١١١",
        ]
    )
    func otherNumbers(text: String) {
        #expect(first(text) == nil)
        #expect(first("See \(text) there")?.kind == nil)
    }

    @Test("A card number is found beside further numbers behind spaces, and behind the end of an IBAN")
    func neighbours() {
        #expect(first("4111 1111 1111 1111 2026") == .init(kind: .card, offset: 0))
        #expect(first("12 4111 1111 1111 1111 12 27") == .init(kind: .card, offset: 3))
        #expect(first("DE41 1111 1111 1111 1111 00, 4111111111111111") == .init(kind: .card, offset: 29))
        #expect(first("+49 30 123456 / 4111111111111111") == .init(kind: .card, offset: 16))
        #expect(first("EUR 4111111111111111")?.offset == 4)
        #expect(first("4111111111111111_") == nil && first("4111111111111111 _")?.offset == 0)
    }

    @Test(
        "A social-security number is found with hyphens or spaces, by the rules of its issuer",
        arguments: [
            ("123-45-6789", true), ("123 45 6789", true), ("001-01-0001", true), ("899-99-9999", true),
            ("665-12-3456", true), ("000-45-6789", false), ("666-45-6789", false), ("900-45-6789", false),
            ("999-45-6789", false), ("123-00-6789", false), ("123-45-0000", false), ("123456789", false),
            ("123-45 6789", false), ("123 45-6789", false), ("1234-5-6789", false), ("123-456-789", false),
            ("123-45-67890", false), ("1123-45-6789", false), ("12-345-6789", false), ("123--45-6789", false),
            ("9-123-45-6789", false), ("123-45-6789-1", false), ("1 123 45 6789", false), ("123 45 6789 1", false),
            ("+1 123 45 6789", false), ("+123-45-6789", false), ("A123-45-6789", false), ("123-45-6789b", false),
            ("2026 123-45-6789", true), ("123-45-6789 2026", true), ("123\u{2011}45\u{2011}6789", true),
        ]
    )
    func socialSecurity(text: String, isFound: Bool) {
        #expect(first(text)?.kind == (isFound ? .socialSecurity : nil))
        #expect(first("SSN: \(text).")?.kind == (isFound ? .socialSecurity : nil))
    }

    @Test("The first number of a text is told, with the byte where it begins")
    func order() {
        #expect(first("ü 123-45-6789 4111111111111111") == .init(kind: .socialSecurity, offset: 3))
        #expect(first("ü 4111111111111111 123-45-6789") == .init(kind: .card, offset: 3))
        #expect(first("") == nil && first("-") == nil && first("1") == nil && first("no number") == nil)
    }

    @Test("Of numbers with an issuer's digits those with the right check digit are found, and no others")
    func checkDigits() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            var digits = [4] + (0..<15).map { _ in Int.random(in: 0...9, using: &random) }
            let isRight = Self.luhn(digits)
            #expect((first(digits.map(String.init).joined()) != nil) == isRight)
            // Any other last digit is wrong.
            digits[15] = (digits[15] + Int.random(in: 1...9, using: &random)) % 10
            if isRight { #expect(first(digits.map(String.init).joined()) == nil) }
        }
    }

    /// Luhn's rule, from the right, as ISO/IEC 7812-1 has it.
    private static func luhn(_ digits: [Int]) -> Bool {
        let sum = digits.reversed().enumerated().reduce(0) { sum, next in
            guard next.offset % 2 == 1 else { return sum + next.element }
            return sum + String(next.element * 2).compactMap(\.wholeNumberValue).reduce(0, +)
        }
        return sum % 10 == 0
    }

    @Test("Texts made to cost time are read to their end")
    func hostile() {
        let end = "\n4111111111111111"
        let pieces = ["1", "4", "1 ", "4111 ", "4111-", "123-45-", "4111 1111 1111 111", "\u{A0}1", "+1 ", "AA11 "]
        for piece in pieces {
            let text = String(repeating: piece, count: (1 << 20) / piece.utf8.count)
            #expect(first(text + end) == .init(kind: .card, offset: text.utf8.count + 1), "\(piece)")
        }
    }

    @Test("Text of any kind is read without harm, wherever it is cut")
    func anyText() {
        var random = SeededGenerator(seed: 5)
        let numbers = ["4111", "1111", "123", "45", "6789"]
        let pieces = numbers + [" ", "-", "\u{A0}", "\u{2011}", "+", ".", "A", "_", "é", "€"]
        for _ in 0..<20_000 {
            let text = (0..<12).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            guard let found = first(text) else { continue }
            let bytes = Array(text.utf8)
            #expect((UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[found.offset]), "\(text)")
            #expect(found.offset == 0 || !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[found.offset - 1]))
        }
    }
}
