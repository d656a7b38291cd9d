import APNsProtocol
import Synchronization

/// The provider tokens that clients have shown lately: those that change too often are refused, by key and client
/// address, over however many connections [field].
///
/// A token is known by its bytes: the same claims with another signature are another token [ours]. Used from every
/// thread, when a connection shows a token that is new to it. The clock is an argument.
final class TokenUpdates: Sendable {
    private struct Client: Hashable {
        let key: ProviderKeyID
        let address: String
    }

    private struct Shown {
        /// Tokens that have not run out.
        var tokens: Set<SignedProviderToken> = []
        /// The time of the latest change, UNIX seconds; nil: the first token was the only one.
        var changedAt: Int64?
    }

    private let shown = Mutex<[Client: Shown]>([:])

    /// Takes a verified token. Those that were taken before stay good until they run out.
    ///
    /// - Parameters:
    ///   - address: the client's, without its port.
    ///   - now: UNIX seconds.
    /// - Throws: `TooManyProviderTokenUpdates` for a second change within 20 minutes.
    func takeToken(_ token: SignedProviderToken, from address: String, now: Int64) throws(ProviderReason) {
        let client = Client(key: token.token.key, address: address)
        let isTaken = shown.withLock { shown in
            if shown[client]?.tokens.contains(token) == true { return true }
            Self.forgetExpired(&shown, now: now)
            var own = shown[client] ?? Shown()
            if !own.tokens.isEmpty {
                // A change in the future is one before a clock was set back.
                let since = own.changedAt.map { now - $0 } ?? -1
                if (0..<ProviderTokenAge.updateIntervalSeconds).contains(since) { return false }
                own.changedAt = now
            }
            own.tokens.insert(token)
            shown[client] = own
            return true
        }
        guard isTaken else { throw .tooManyProviderTokenUpdates }
    }

    /// Nothing is kept of clients whose tokens have all run out.
    private static func forgetExpired(_ shown: inout [Client: Shown], now: Int64) {
        shown = shown.compactMapValues { own -> Shown? in
            let tokens = own.tokens.filter { !ProviderTokenAge.isExpired(issuedAt: $0.token.issuedAt, now: now) }
            return tokens.isEmpty ? nil : Shown(tokens: tokens, changedAt: own.changedAt)
        }
    }
}
