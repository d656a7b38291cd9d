/// One atomic change of a token's state; what each does is said by its script in ``TokenScripts``.
///
/// A change may be made again, and changes of one token in any order; only `forgetInvalid` comes behind what it takes back.
struct TokenChange: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// The app registered the token at this time, UNIX seconds.
        case register(at: UInt32, TokenTexts)
        /// The app told of its device at this time, UNIX seconds, without registering.
        case describe(at: UInt32, TokenTexts)
        /// The token was found dead, or was given up, at this time, UNIX seconds.
        case tombstone(at: UInt32, TokenRecord.Reason)
        /// The token had been forgotten at this time, UNIX seconds: a tombstone of a gateway that is not later goes.
        case forgetInvalid(at: UInt32)
    }

    var environment: String
    var bundleID: String
    var token: [UInt8]
    var kind: Kind
}

/// What is known of a token after a change.
struct TokenFacts: Equatable, Sendable {
    /// UNIX seconds; 0: never.
    var registeredAt: UInt32
    /// UNIX seconds; 0: not.
    var tombstonedAt: UInt32
    var reason: TokenRecord.Reason
    /// A tombstone was there, and this change removed it.
    var wasRevived: Bool

    /// A dead token stays silent until it registers again.
    var isDead: Bool { tombstonedAt > registeredAt }
}
