import APNsProtocol

/// One atomic change of a token's state, or a question about it; its script in ``TokenScripts`` defines its effect.
///
/// A change may be repeated, and changes of one token may come in any order; only `forgetInvalid` must follow the
/// change that it takes back.
package struct TokenChange: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The app registered the token at this time, UNIX seconds.
        case register(at: UInt32, TokenTexts)
        /// The app described its device at this time, UNIX seconds, without registering.
        case describe(at: UInt32, TokenTexts)
        /// The token was found dead, or was given up, at this time, UNIX seconds.
        case tombstone(at: UInt32, TokenRecord.Reason)
        /// A gateway called the token invalid for topics of this kind, at this time, UNIX seconds.
        case refuse(at: UInt32, TopicKind)
        /// The token was forgotten at this time, UNIX seconds: removes a gateway's tombstone that is not later.
        case forgetInvalid(at: UInt32)
        /// Changes nothing: asks for the facts.
        case ask

        /// It takes back what another change has made, so that it must come after that.
        package var takesBack: Bool {
            if case .forgetInvalid = self { true } else { false }
        }
    }

    package var environment: String
    package var bundleID: String
    package var token: [UInt8]
    package var kind: Kind

    package init(environment: String, bundleID: String, token: [UInt8], kind: Kind) {
        self.environment = environment
        self.bundleID = bundleID
        self.token = token
        self.kind = kind
    }
}

/// The state of a token after a change.
package struct TokenFacts: Equatable, Sendable {
    /// UNIX seconds; 0: never.
    var registeredAt: UInt32
    /// UNIX seconds; 0: no tombstone.
    var tombstonedAt: UInt32
    var reason: TokenRecord.Reason
    /// This change removed a tombstone, or that for a kind of topic.
    package var wasRevived: Bool
    /// The kinds of topics for which the token is dead, if not for all.
    var refused: [RefusedKind] = []

    /// A dead token stays silent until it registers again, for topics of every kind.
    package var isDead: Bool { tombstonedAt > registeredAt }

    /// UNIX seconds of the latest word that the token is dead, for topics of any kind; 0: there is none.
    var latestDeath: UInt32 { refused.latestDeath(besides: tombstonedAt) }

    /// Readers of push.tombstones are told: the token is dead, or no longer dead, for topics of some kind at least.
    package var concernReaders: Bool { latestDeath > registeredAt || wasRevived }
}
