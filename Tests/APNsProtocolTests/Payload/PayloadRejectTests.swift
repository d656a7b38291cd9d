import APNsProtocol
import Testing

/// A payload that must not be sent, the rule it breaks, and where.
struct RejectCase: CustomTestStringConvertible, Sendable {
    let payload: [UInt8]
    let rule: PayloadRule
    let offset: Int

    init(_ payload: String, _ rule: PayloadRule, at offset: Int) {
        self.init(bytes: [UInt8](payload.utf8), rule, at: offset)
    }

    init(bytes payload: [UInt8], _ rule: PayloadRule, at offset: Int) {
        self.payload = payload
        self.rule = rule
        self.offset = offset
    }

    /// A custom value, which begins at byte 14 of the payload.
    static func value(_ value: String, _ rule: PayloadRule, at offset: Int) -> RejectCase {
        RejectCase(#"{"aps":{},"x":\#(value)}"#, rule, at: 14 + offset)
    }

    /// Bytes in a custom string, the first of them at byte 15 of the payload.
    static func string(_ bytes: [UInt8], _ rule: PayloadRule, at offset: Int) -> RejectCase {
        let payload = [UInt8](#"{"aps":{},"x":""#.utf8) + bytes + [UInt8](#""}"#.utf8)
        return RejectCase(bytes: payload, rule, at: 15 + offset)
    }

    var testDescription: String {
        "\(rule.code) in \(String(decoding: payload.prefix(60), as: UTF8.self))"
    }

    static let top = [
        RejectCase("", .empty, at: 0),
        RejectCase(" \n\t\r ", .empty, at: 0),
        RejectCase("[]", .notAnObject, at: 0),
        RejectCase(#""aps""#, .notAnObject, at: 0),
        RejectCase("null", .notAnObject, at: 0),
        RejectCase("  5", .notAnObject, at: 2),
        RejectCase("}", .notAnObject, at: 0),
        RejectCase(#"[{"aps":{}}]"#, .notAnObject, at: 0),
        RejectCase("\u{FEFF}{\"aps\":{}}", .byteOrderMark, at: 0),
        RejectCase("\u{A0}{\"aps\":{}}", .notAnObject, at: 0),
        RejectCase("\u{0C}{\"aps\":{}}", .notAnObject, at: 0),
        RejectCase("{\u{0B}\"aps\":{}}", .expectedKey, at: 1),
        RejectCase(#"{"aps":{}}x"#, .trailingContent, at: 10),
        RejectCase(#"{"aps":{}} {"aps":{}}"#, .trailingContent, at: 11),
        RejectCase(#"{"aps":{}},"#, .trailingContent, at: 10),
        RejectCase(#"{"aps":{}}}"#, .trailingContent, at: 10),
        RejectCase("{\"aps\":{}}\u{0}", .trailingContent, at: 10),
        RejectCase("{}", .apsMissing, at: 1),
        RejectCase(#"{"alert":"x"}"#, .apsMissing, at: 12),
        RejectCase(#"{"x":{"aps":{}}}  "#, .apsMissing, at: 15),
        RejectCase(#"{"aps":[]}"#, .apsNotAnObject, at: 7),
        RejectCase(#"{"aps": null}"#, .apsNotAnObject, at: 8),
        RejectCase(#"{"\u0061ps":"x"}"#, .apsNotAnObject, at: 12),
        RejectCase(#"{"aps":{},"aps":{}}"#, .apsDuplicate, at: 10),
        RejectCase(#"{"aps":{},"x":1,"\u0061p\u0073":{}}"#, .apsDuplicate, at: 16),
    ]

    static let structure = [
        RejectCase(#"{"aps":{"badge":5,}}"#, .trailingComma, at: 18),
        RejectCase(#"{"aps":{},}"#, .trailingComma, at: 10),
        RejectCase(#"{,"aps":{}}"#, .expectedKey, at: 1),
        RejectCase(#"{"aps":{},,"x":1}"#, .expectedKey, at: 10),
        RejectCase(#"{aps:{}}"#, .expectedKey, at: 1),
        RejectCase(#"{'aps':{}}"#, .expectedKey, at: 1),
        RejectCase(#"{"aps":{},1:1}"#, .expectedKey, at: 10),
        RejectCase(#"{"aps":{},null:1}"#, .expectedKey, at: 10),
        RejectCase(#"{"aps":{]}"#, .expectedKey, at: 8),
        RejectCase(#"{"aps" {}}"#, .expectedColon, at: 7),
        RejectCase(#"{"aps"}"#, .expectedColon, at: 6),
        RejectCase(#"{"aps",{}}"#, .expectedColon, at: 6),
        RejectCase(#"{"aps"={}}"#, .expectedColon, at: 6),
        RejectCase(#"{"aps":{}"x":1}"#, .expectedCommaOrEnd, at: 9),
        RejectCase(#"{"aps":{}]"#, .expectedCommaOrEnd, at: 9),
        RejectCase(#"{"aps":{};"x":1}"#, .expectedCommaOrEnd, at: 9),
        RejectCase(#"{"aps":{} /* no */}"#, .expectedCommaOrEnd, at: 10),
        RejectCase(#"{"aps":{"a":1 "b":2}}"#, .expectedCommaOrEnd, at: 14),
        RejectCase(#"{/**/"aps":{}}"#, .expectedKey, at: 1),
        value("", .expectedValue, at: 0), value(":1", .expectedValue, at: 0), value("[,1]", .expectedValue, at: 1),
        value("[1,]", .trailingComma, at: 3), value("[1,,2]", .expectedValue, at: 3),
        value("[1 2]", .expectedCommaOrEnd, at: 3), value("[1}", .expectedCommaOrEnd, at: 2),
        value("[1:2]", .expectedCommaOrEnd, at: 2), value(#"{"a":1]"#, .expectedCommaOrEnd, at: 6),
        value("'x'", .expectedValue, at: 0), value("x", .expectedValue, at: 0),
        value("undefined", .expectedValue, at: 0), value("\u{2028}1", .expectedValue, at: 0),
        value("True", .expectedValue, at: 0), value("tru", .invalidLiteral, at: 3),
        value("trUe", .invalidLiteral, at: 2), value("truex", .expectedCommaOrEnd, at: 4),
        value("nul", .invalidLiteral, at: 3), value("nil", .invalidLiteral, at: 1),
        value("falsE", .invalidLiteral, at: 4), value("NaN", .expectedValue, at: 0),
        value("Infinity", .expectedValue, at: 0),
        value(String(repeating: "[", count: 64), .tooDeep, at: 63),
        value(String(repeating: #"{"a":"#, count: 64), .tooDeep, at: 63 * 5),
    ]

    static let numbers = [
        value("+1", .expectedValue, at: 0), value(".5", .expectedValue, at: 0), value("-", .invalidNumber, at: 1),
        value("--1", .invalidNumber, at: 1), value("-x", .invalidNumber, at: 1), value("-.5", .invalidNumber, at: 1),
        value("-Infinity", .invalidNumber, at: 1), value("00", .invalidNumber, at: 0),
        value("01", .invalidNumber, at: 0), value("-01", .invalidNumber, at: 1), value("1.", .invalidNumber, at: 2),
        value("1.e5", .invalidNumber, at: 2), value("1.-5", .invalidNumber, at: 2),
        value("1e", .invalidNumber, at: 2), value("1e+", .invalidNumber, at: 3), value("1E-x", .invalidNumber, at: 3),
        value("1e+-1", .invalidNumber, at: 3), value("1e1.5", .expectedCommaOrEnd, at: 3),
        value("1.2.3", .expectedCommaOrEnd, at: 3), value("0x1F", .expectedCommaOrEnd, at: 1),
        value("1_000", .expectedCommaOrEnd, at: 1), value("1,000", .expectedKey, at: 2),
        value("1f", .expectedCommaOrEnd, at: 1), value("1-1", .expectedCommaOrEnd, at: 1),
        value("1 000", .expectedCommaOrEnd, at: 2), value("\u{FF11}", .expectedValue, at: 0),
    ]

    static let strings = [
        string([0x00], .controlCharacter, at: 0), string([0x61, 0x0A], .controlCharacter, at: 1),
        string([0x61, 0x61, 0x09], .controlCharacter, at: 2), string([0x1F], .controlCharacter, at: 0),
        value(#""\x""#, .invalidEscape, at: 2), value(#""\'""#, .invalidEscape, at: 2),
        value(#""\a""#, .invalidEscape, at: 2), value(#""\0""#, .invalidEscape, at: 2),
        value(#""\U0041""#, .invalidEscape, at: 2), value("\"\\\u{E9}\"", .invalidEscape, at: 2),
        value("\"\\\n\"", .invalidEscape, at: 2), value(#""\u""#, .invalidEscape, at: 3),
        value(#""\u004""#, .invalidEscape, at: 6), value(#""\u00g0""#, .invalidEscape, at: 5),
        value(#""\u{41}""#, .invalidEscape, at: 3), value(#""\u 041""#, .invalidEscape, at: 3),
        value(#""\uD834""#, .unpairedSurrogate, at: 1), value(#""a\uDD1E""#, .unpairedSurrogate, at: 2),
        value(#""\uD834x""#, .unpairedSurrogate, at: 1), value(#""\uD834\n""#, .unpairedSurrogate, at: 1),
        value(#""\uD834\uD834""#, .unpairedSurrogate, at: 1), value(#""\uD834A""#, .unpairedSurrogate, at: 1),
        value(#""\uDD1E\uD834""#, .unpairedSurrogate, at: 1), value(#""\uD834\uDD1""#, .invalidEscape, at: 12),
        string([0x80], .invalidUTF8, at: 0), string([0xBF, 0x61], .invalidUTF8, at: 0),
        string([0x61, 0xFF], .invalidUTF8, at: 1), string([0xFE], .invalidUTF8, at: 0),
        string([0xC0, 0x80], .invalidUTF8, at: 0), string([0xC1, 0xBF], .invalidUTF8, at: 0),
        string([0xC3], .invalidUTF8, at: 0), string([0xC3, 0x28], .invalidUTF8, at: 0),
        string([0xE0, 0x9F, 0xBF], .invalidUTF8, at: 0), string([0xE2, 0x82], .invalidUTF8, at: 0),
        string([0xE2, 0x28, 0xA1], .invalidUTF8, at: 0), string([0xED, 0xA0, 0x80], .invalidUTF8, at: 0),
        string([0xED, 0xBF, 0xBF], .invalidUTF8, at: 0), string([0xF0, 0x8F, 0xBF, 0xBF], .invalidUTF8, at: 0),
        string([0xF0, 0x9F, 0x94], .invalidUTF8, at: 0), string([0xF4, 0x90, 0x80, 0x80], .invalidUTF8, at: 0),
        string([0xF5, 0x80, 0x80, 0x80], .invalidUTF8, at: 0),
        string([0xF8, 0x88, 0x80, 0x80, 0x80], .invalidUTF8, at: 0),
        string([0xC3, 0xA9, 0xE9, 0x61], .invalidUTF8, at: 2),
    ]
}

@Suite struct PayloadRejectTests {
    private static let tables = RejectCase.top + RejectCase.structure + RejectCase.numbers + RejectCase.strings

    @Test("A broken rule is named with the byte that breaks it", arguments: tables)
    func rejected(reject: RejectCase) {
        let error = PayloadError(rule: reject.rule, offset: reject.offset)
        #expect(PayloadAcceptTests.scan(reject.payload) == .failure(error))
    }

    @Test("A syntax error is reported, not the size, when both are wrong")
    func syntaxBeforeSize() {
        for reject in Self.tables {
            let error = PayloadError(rule: reject.rule, offset: reject.offset)
            #expect(PayloadAcceptTests.scan(reject.payload, limitBytes: 1) == .failure(error))
        }
    }

    @Test("A payload that ends too early ends inside the object, wherever it is cut")
    func everyPrefix() {
        let payload = [UInt8](#" {"aps" : {"a":[1.5e+3,true,"é😀\u0041\uD834\uDD1E"],"b":null} , "c":{}, "d":-0} "#.utf8)
        let end = payload.count - 1
        #expect((try? PayloadAcceptTests.scan(payload).get()) != nil)
        for length in 2..<end {
            guard case .failure(let error) = PayloadAcceptTests.scan([UInt8](payload.prefix(length))) else {
                Issue.record("accepted when cut to \(length) bytes")
                continue
            }
            // A character or a pair that is cut in the middle is reported where it begins.
            let cutCharacter = error.rule == .invalidUTF8 || error.rule == .unpairedSurrogate
            #expect(error.rule == .unexpectedEnd && error.offset == length || cutCharacter, "cut to \(length) bytes")
        }
    }

    @Test(
        "The rule for aps decides whether it may be there; what is there is an object, and there once",
        arguments: [
            ("{}", .required, PayloadError(rule: .apsMissing, offset: 1)), ("{}", .optional, nil),
            ("{}", .forbidden, nil), (#"{"mdm":"x"}"#, .forbidden, nil), (#"{"x":{"aps":{}}}"#, .forbidden, nil),
            (#"{"aps":{}}"#, .optional, nil),
            (#"{ "aps":{}}"#, .forbidden, PayloadError(rule: .apsForbidden, offset: 2)),
            (#"{"aps":1}"#, .optional, PayloadError(rule: .apsNotAnObject, offset: 7)),
            (#"{"aps":{},"aps":{}}"#, .optional, PayloadError(rule: .apsDuplicate, offset: 10)),
        ] as [(String, ApsRule, PayloadError?)]
    )
    func apsRules(payload: String, rule: ApsRule, expected: PayloadError?) {
        var found: PayloadError?
        do throws(PayloadError) {
            _ = try PayloadScanner.stripped(Array(payload.utf8), limitBytes: 256, aps: rule)
        } catch {
            found = error
        }
        #expect(found == expected)
    }

    @Test("Every rule has a code of its own and a description")
    func codes() {
        let rules =
            Self.tables.map(\.rule)
            + [.tooLarge(strippedBytes: 257, limitBytes: 256), .unexpectedEnd, .apsMissing, .apsForbidden]
        let distinct = Set(rules)
        #expect(distinct.count == 22)
        #expect(Set(distinct.map(\.code)).count == 22)
        #expect(Set(distinct.map(\.description)).count == 22)
        #expect(
            PayloadError(rule: .trailingComma, offset: 17).description
                == "payload: a comma has nothing after it, at byte 17"
        )
    }
}
