import PushSchemas

/// A mistake in a record of push.requests, as its dead letter would tell it.
public struct RequestFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// Reason and detail, word for word those of the dead letter.
    public let refusal: RecordRefusal
    /// Indices of the tokens that have this fault, in order; empty: the whole record has it.
    public let tokens: [Int]

    package init(_ refusal: RecordRefusal, tokens: [Int] = []) {
        self.refusal = refusal
        self.tokens = tokens
    }

    public var description: String {
        guard !tokens.isEmpty else { return "\(refusal)" }
        let first = tokens.prefix(Self.toldTokens).map { "\($0)" }.joined(separator: ", ")
        return "\(refusal) (token \(first)\(tokens.count > Self.toldTokens ? ", …" : ""))"
    }

    private static let toldTokens = 5
}
