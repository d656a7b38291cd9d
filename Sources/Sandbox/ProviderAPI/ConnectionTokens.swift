import APNsProtocol

/// The service's rules for the provider tokens of one connection: behind ``ProviderTokenVerifier``, before the rest.
///
/// The clock is the argument.
struct ConnectionTokens: Sendable {
    private let address: String
    private let updates: TokenUpdates
    private var current: SignedProviderToken?
    private var isWedged = false

    /// - Parameters:
    ///   - address: the client's, without its port.
    ///   - updates: tokens over all connections.
    init(address: String, updates: TokenUpdates) {
        self.address = address
        self.updates = updates
    }

    /// Takes the verified token of a request.
    ///
    /// - Parameter now: UNIX seconds.
    /// - Throws: `UnrelatedKeyIdInToken` for a key of another team than the connection's first, `ExpiredProviderToken`
    ///   when one has been answered before, `TooManyProviderTokenUpdates` as ``TokenUpdates`` says.
    mutating func takeToken(_ token: SignedProviderToken, now: Int64) throws(ProviderReason) {
        guard !isWedged else { throw .expiredProviderToken }
        guard token != current else { return }
        if let current, token.token.key.team != current.token.key.team { throw .unrelatedKeyID }
        try updates.takeToken(token, from: address, now: now)
        current = token
    }

    /// A token was refused as expired: the connection stays of no use until it ends [field].
    mutating func wedge() {
        isWedged = true
    }
}
