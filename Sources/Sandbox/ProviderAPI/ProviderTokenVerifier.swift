import APNsProtocol
import Glibc
import TLSTransport

/// Verifies provider tokens as the push service does.
///
/// Verifying a signature takes as long as twenty requests, and a token comes with each of them: the last good one is
/// remembered. One instance for each connection.
struct ProviderTokenVerifier {
    /// A signing key that the service knows.
    struct Key: Sendable {
        let id: ProviderKeyID
        let publicKey: ProviderPublicKey
        /// The key is good for this service's environment.
        let isOfEnvironment: Bool
    }

    /// By the key's id alone, as tokens name it.
    private let keys: [String: Key]
    private var last: (header: [UInt8], token: SignedProviderToken)?

    init(keys: [Key]) {
        self.keys = Dictionary(keys.map { ($0.id.key, $0) }, uniquingKeysWith: { _, new in new })
    }

    /// Judges the provider token of a request.
    ///
    /// - Parameters:
    ///   - authorization: the value of the header; nil: absent.
    ///   - now: UNIX seconds, by the service's clock.
    /// - Throws: `MissingProviderToken`, `InvalidProviderToken`, `BadEnvironmentKeyIdInToken` or
    ///   `ExpiredProviderToken`.
    mutating func verify(
        authorization: UnsafeRawBufferPointer?,
        now: Int64
    ) throws(ProviderReason) -> SignedProviderToken {
        guard let authorization else { throw .missingProviderToken }
        let token: SignedProviderToken
        if let last, Self.isSame(authorization, last.header) {
            token = last.token
        } else {
            token = try verifiedToken(authorization)
            last = ([UInt8](authorization), token)
        }
        guard !ProviderTokenAge.isExpired(issuedAt: token.token.issuedAt, now: now) else { throw .expiredProviderToken }
        return token
    }

    /// Faster than the library's comparison of sequences: the header has 200 bytes and comes with each request.
    private static func isSame(_ authorization: UnsafeRawBufferPointer, _ header: [UInt8]) -> Bool {
        guard authorization.count == header.count, let start = authorization.baseAddress else { return false }
        return memcmp(start, header, header.count) == 0
    }

    private func verifiedToken(
        _ authorization: UnsafeRawBufferPointer
    ) throws(ProviderReason) -> SignedProviderToken {
        let compact = try Self.compact(authorization)
        let parsed = Result { () throws(ProviderTokenFault) in try SignedProviderToken(compact: compact) }
        guard case .success(let signed) = parsed, let key = keys[signed.token.key.key],
            key.id == signed.token.key,
            key.publicKey.verifies(signature: signed.signature, of: signed.signingInput)
        else { throw .invalidProviderToken }
        guard key.isOfEnvironment else { throw .badEnvironmentKeyID }
        return signed
    }

    /// The token behind the scheme, which is `bearer` in either case (RFC 9110 §11.1).
    private static func compact(
        _ authorization: UnsafeRawBufferPointer
    ) throws(ProviderReason) -> UnsafeRawBufferPointer {
        let scheme = Array("bearer ".utf8)
        // 0x20 is the difference between the cases; a space has the bit, too.
        guard authorization.count > scheme.count,
            zip(authorization, scheme).allSatisfy({ $0 | 0x20 == $1 })
        else { throw .missingProviderToken }
        return UnsafeRawBufferPointer(rebasing: authorization[scheme.count...])
    }
}
