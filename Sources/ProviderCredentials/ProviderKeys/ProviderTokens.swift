import APNsProtocol
import BelfrySupport
import PipelineCore
import Synchronization
import TLSTransport

/// The provider tokens of the process: one for each key at a time, shared by all shards and connections.
///
/// ``TokenMinting`` decides when a token is minted, and its date: other processes with the key make the same one. Any
/// thread may ask; signing takes some 200 µs under the lock, a few times an hour for each key at most.
package final class ProviderTokens: Sendable {
    /// A token that is ready for use.
    package struct Authorization: Equatable, Sendable {
        /// The value of the header `authorization`, ASCII: `bearer `, and the token in compact form.
        package let value: [UInt8]
        /// Names the token in its answers; rises from token to token of a key.
        package let serial: UInt64
        /// Rises when another key takes the place of the token's under the same ID: connections that have used a token
        /// of a former edition are to be replaced.
        package let edition: UInt64
    }

    /// An answer to the question for a token.
    package enum Answer: Equatable, Sendable {
        case use(Authorization)
        /// There is no usable token, and none may be minted before this time.
        case wait(until: MonotonicTime)
        /// There was never a key of this ID.
        case keyMissing
        /// The key cannot sign now; the text is OpenSSL's. The next question tries again.
        case failed(String)
    }

    /// The latest token of a key, for metrics.
    package struct Report: Equatable, Sendable {
        package let key: ProviderKeyID
        /// Tokens minted since the start: the first, and one for each slot that has begun since.
        package let minted: UInt64
        /// The date in the latest token, UNIX seconds.
        package let issuedAt: Int64
    }

    /// The tokens of one key.
    private struct Tokens {
        var minting: TokenMinting
        /// Of the key that signs them.
        var edition: UInt64
        /// Nil: none was signed with this edition.
        var latest: Authorization?
        var minted: UInt64 = 0
        var issuedAt: Int64 = 0

        init(of held: ProviderKeyStore.Held) {
            minting = TokenMinting(key: held.id)
            edition = held.edition
        }

        mutating func exchangeKey(_ held: ProviderKeyStore.Held) {
            minting.exchangeKey(held.id)
            edition = held.edition
            latest = nil
        }

        mutating func sign(_ token: ProviderToken, serial: UInt64, by key: ProviderKey) -> Answer {
            do throws(TLSConfigurationError) {
                let compact = try token.compact { bytes throws(TLSConfigurationError) in try key.signature(of: bytes) }
                let made = Authorization(value: "bearer ".utf8 + compact, serial: serial, edition: edition)
                latest = made
                minted += 1
                issuedAt = token.issuedAt
                return .use(made)
            } catch {
                minting.mintingFailed()
                return .failed("\(error)")
            }
        }
    }

    private let keys: ProviderKeyStore
    private let tokens = Mutex<[ProviderKeyID: Tokens]>([:])

    package init(keys: ProviderKeyStore) {
        self.keys = keys
    }

    // MARK: Tokens

    /// Asks for a key's token: before each new connection, and on each of them from time to time.
    ///
    /// - Parameter unixSeconds: the wall clock.
    package func authorization(_ id: ProviderKeyID, now: MonotonicTime, unixSeconds: Int64) -> Answer {
        tokens.withLock { all in
            guard let held = keys.key(id) else { return .keyMissing }
            var tokens = all[id] ?? Tokens(of: held)
            defer { all[id] = tokens }
            if held.edition != tokens.edition { tokens.exchangeKey(held) }
            switch tokens.minting.token(now: now, unixSeconds: unixSeconds) {
            case .use:
                guard let latest = tokens.latest else { preconditionFailure("a token that is good was signed") }
                return .use(latest)
            case .wait(let until):
                return .wait(until: until)
            case .mint(let serial, let issuedAt):
                return tokens.sign(ProviderToken(key: id, issuedAt: issuedAt), serial: serial, by: held.key)
            }
        }
    }

    // MARK: Answers

    /// The service refused a token, see ``TokenMinting/refused(serial:connectionOpenedAt:now:)``.
    package func refused(
        _ id: ProviderKeyID,
        serial: UInt64,
        connectionOpenedAt: MonotonicTime,
        now: MonotonicTime
    ) -> TokenMinting.Verdict {
        tokens.withLock { tokens in
            tokens[id]?.minting.refused(serial: serial, connectionOpenedAt: connectionOpenedAt, now: now) ?? .retry
        }
    }

    /// The service accepted a notification with a token. Once for each token and connection is enough.
    package func accepted(_ id: ProviderKeyID, serial: UInt64, connectionOpenedAt: MonotonicTime) {
        tokens.withLock { $0[id]?.minting.accepted(serial: serial, connectionOpenedAt: connectionOpenedAt) }
    }

    // MARK: Telling

    /// The keys that have minted a token, sorted.
    package var reports: [Report] {
        tokens.withLock { tokens in
            Array(tokens.keys).inOrder.compactMap { id in
                guard let tokens = tokens[id], tokens.minted > 0 else { return nil }
                return Report(key: id, minted: tokens.minted, issuedAt: tokens.issuedAt)
            }
        }
    }
}
