import PushSchemas

/// The fault of one token of a request, or of its channel.
///
/// Its words are made when they are asked for: a record may have tens of thousands of faulty tokens, and one dead
/// letter tells of all with the same reason.
package struct TokenFault: Sendable {
    @usableFromInline
    enum Kind: Sendable {
        /// `tokenMissing` or `tokenNotHexadecimal`.
        case malformed(RecordFault)
        case length(bytes: Int)
        /// `expected` is nil if the bundle has no shards.
        case outsideShard(name: StaticString, expected: UInt32?)
    }

    private let kind: Kind
    private let rule: TokenRule

    @usableFromInline
    init(_ kind: Kind, by rule: TokenRule) {
        self.kind = kind
        self.rule = rule
    }

    /// The stable code.
    package var reason: String {
        switch kind {
        case .malformed(let fault): fault.rawValue
        case .length: "token-length"
        case .outsideShard: "token-outside-shard"
        }
    }

    package var detail: String { refusal.detail }

    /// The same with its words.
    package var refusal: RecordRefusal {
        switch kind {
        case .malformed:
            RecordRefusal(reason: reason, detail: "the token is empty or not hexadecimal")
        case .length(let bytes):
            .tokenLength(bytes, allowed: rule.lengths)
        case .outsideShard(let name, let expected):
            RecordRefusal(
                reason: "token-outside-shard",
                detail: "the \(name) belongs under the key's shard \(expected.map(String.init) ?? "(none)"), "
                    + "the bundle's spread being \(rule.spread ?? 1)"
            )
        }
    }
}
