/// The rule for `aps` at the top of a payload. An `aps` that is there is an object, and there once.
public enum ApsRule: Sendable, Equatable {
    /// There is one [11].
    case required
    /// There may be one [later].
    case optional
    /// There is none [later].
    case forbidden
}

/// The rules for a payload: strict JSON after RFC 8259, one object with an `aps` object [11], within its limit [13].
///
/// Over HTTP/2 the push type may have another ``ApsRule``.
public enum PayloadRule: Hashable, Sendable {
    /// Nothing, or nothing but white space.
    case empty
    /// A byte order mark stands in front (RFC 8259 §8.1).
    case byteOrderMark
    /// Something other than an object stands at the top.
    case notAnObject
    /// Something other than white space follows the object.
    case trailingContent
    /// The payload ends inside the object.
    case unexpectedEnd
    /// A key, in quotation marks, is missing.
    case expectedKey
    /// A key is not followed by a colon.
    case expectedColon
    /// The text at the place of a value does not begin one.
    case expectedValue
    /// A value is not followed by a comma or the closing bracket of its container.
    case expectedCommaOrEnd
    /// A comma is followed by a closing bracket.
    case trailingComma
    /// A word begins like `true`, `false` or `null` but is none of them.
    case invalidLiteral
    /// A number is not written as RFC 8259 §6 wants it: a leading zero, no digit where one belongs.
    case invalidNumber
    /// A byte below 0x20 stands unescaped in a string.
    case controlCharacter
    /// A backslash is not followed by one of `"\/bfnrt` or `u` and four hexadecimal digits.
    case invalidEscape
    /// A `\u` escape is one half of a surrogate pair without the other. The grammar lets it pass, but it is no
    /// character (RFC 8259 §8.2), and devices refuse it [ours].
    case unpairedSurrogate
    /// A string is not UTF-8: an overlong form, a surrogate, a code point above 10FFFF or a cut sequence.
    case invalidUTF8
    /// Objects and arrays are nested deeper than ``PayloadScanner/depthLimit`` [ours].
    case tooDeep
    /// There is no `aps` at the top.
    case apsMissing
    /// There is an `aps`, and the push type has none.
    case apsForbidden
    /// `aps` is not an object.
    case apsNotAnObject
    /// `aps` appears twice: it would be unclear which of them counts.
    case apsDuplicate
    /// The payload without its white space is still longer than the transport allows.
    case tooLarge(strippedBytes: Int, limitBytes: Int)
}

extension PayloadRule {
    /// A constant name for metrics and dead letters, e.g. `payload_trailing_comma`.
    public var code: String {
        switch self {
        case .empty: "payload_empty"
        case .byteOrderMark: "payload_byte_order_mark"
        case .notAnObject: "payload_not_an_object"
        case .trailingContent: "payload_trailing_content"
        case .unexpectedEnd: "payload_unexpected_end"
        case .expectedKey: "payload_expected_key"
        case .expectedColon: "payload_expected_colon"
        case .expectedValue: "payload_expected_value"
        case .expectedCommaOrEnd: "payload_expected_comma_or_end"
        case .trailingComma: "payload_trailing_comma"
        case .invalidLiteral: "payload_invalid_literal"
        case .invalidNumber: "payload_invalid_number"
        case .controlCharacter: "payload_control_character"
        case .invalidEscape: "payload_invalid_escape"
        case .unpairedSurrogate: "payload_unpaired_surrogate"
        case .invalidUTF8: "payload_invalid_utf8"
        case .tooDeep: "payload_too_deep"
        case .apsMissing: "payload_aps_missing"
        case .apsForbidden: "payload_aps_forbidden"
        case .apsNotAnObject: "payload_aps_not_an_object"
        case .apsDuplicate: "payload_aps_duplicate"
        case .tooLarge: "payload_too_large"
        }
    }
}

extension PayloadRule: CustomStringConvertible {
    /// The fault, for a person to read.
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .byteOrderMark: "a byte order mark stands in front of the JSON"
        case .notAnObject: "it is not a JSON object"
        case .trailingContent: "something follows the JSON object"
        case .unexpectedEnd: "it ends inside the JSON object"
        case .expectedKey: "a key in quotation marks is missing"
        case .expectedColon: "a key is not followed by a colon"
        case .expectedValue: "a value is missing"
        case .expectedCommaOrEnd: "a value is not followed by a comma or a closing bracket"
        case .trailingComma: "a comma has nothing after it"
        case .invalidLiteral: "only true, false and null are written without quotation marks"
        case .invalidNumber: "a number is not valid JSON"
        case .controlCharacter: "a control character in a string is not escaped"
        case .invalidEscape: "a backslash does not begin a valid escape"
        case .unpairedSurrogate: "an escape is half of a surrogate pair"
        case .invalidUTF8: "a string is not valid UTF-8"
        case .tooDeep: "it is nested deeper than \(PayloadScanner.depthLimit) levels"
        case .apsMissing: "it has no \"aps\" object"
        case .apsForbidden: "it has \"aps\", which does not belong into a payload of its push type"
        case .apsNotAnObject: "\"aps\" is not an object"
        case .apsDuplicate: "\"aps\" is there twice"
        case .tooLarge(let strippedBytes, let limitBytes):
            "it has \(strippedBytes) bytes without white space, \(limitBytes) are allowed"
        }
    }
}
