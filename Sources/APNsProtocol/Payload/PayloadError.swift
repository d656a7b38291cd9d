/// The rule that a payload breaks, and the place: it must not be sent.
public struct PayloadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: PayloadRule

    /// The offset in bytes, from 0, in the payload as it came (white space included), of the byte that breaks the rule;
    /// the payload's length when it ends too early.
    public let offset: Int

    /// A rule broken at a byte.
    public init(rule: PayloadRule, offset: Int) {
        self.rule = rule
        self.offset = offset
    }

    /// E.g. `payload: a comma has nothing after it, at byte 17`.
    public var description: String {
        "payload: \(rule), at byte \(offset)"
    }
}
