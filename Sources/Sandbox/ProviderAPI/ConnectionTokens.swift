import APNsProtocol

/// The service's rules for the provider tokens of one connection: behind ``ProviderTokenVerifier``, before the rest.
///
/// The clock is the argument.
struct ConnectionTokens: Sendable {
    private var current: ProviderToken?
    /// The time of the latest change of tokens, UNIX seconds; nil: the first one is still in use.
    private var changedAt: Int64?
    private var isWedged = false

    /// Takes the verified token of a request.
    ///
    /// - Parameter now: UNIX seconds.
    /// - Throws: `UnrelatedKeyIdInToken` for a key of another team than the connection's first, `ExpiredProviderToken`
    ///   when one has been answered before, `TooManyProviderTokenUpdates` for a second change within 20 minutes.
    mutating func takeToken(_ token: ProviderToken, now: Int64) throws(ProviderReason) {
        guard !isWedged else { throw .expiredProviderToken }
        guard let current else {
            self.current = token
            return
        }
        guard token != current else { return }
        guard token.key.team == current.key.team else { throw .unrelatedKeyID }
        if let changedAt, now - changedAt < ProviderTokenAge.updateIntervalSeconds {
            throw .tooManyProviderTokenUpdates
        }
        self.current = token
        changedAt = now
    }

    /// A token was refused as expired: the connection stays of no use until it ends [field].
    mutating func wedge() {
        isWedged = true
    }
}
