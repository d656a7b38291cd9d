import APNsProtocol
import TLSTransport

@testable import Sandbox

/// Puts a valid provider token into a stream where it asks for one: `JWTK`. No mutation would find a signature.
///
/// The token takes the place of the stand-in and what follows it, so that the stream keeps its length; where there is
/// too little left, the stand-in stays what it is.
enum ProviderTokenStandIn {
    static let mark = Array("JWTK".utf8)
    /// The private half is forgotten: the token is the only one of its key. It was issued at ``APIFuzz/now``.
    static let token = Array(
        """
        eyJhbGciOiJFUzI1NiIsImtpZCI6IkZVWloifQ.eyJpc3MiOiJURUFNIiwiaWF0IjoxMDAwMDAwfQ.\
        xBoAXiGcBQp6cYQMKlEKzbJCBY0fOzS1JauD4czDH-ojsI79KnMmy0JrLLlhZs81ly8EqRWsAZlv7C8D-XXiQA
        """.utf8
    )

    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgzWO63G2LUwFl7U5zR0zXDBnjPK5
        QHcvVvyErH2cVTPypqLEK3AFkj+95lpR1etxa8CaR54U2ZFAmxJ6qydYSg==
        -----END PUBLIC KEY-----

        """

    /// - Parameter bundles: the bundle IDs that the key reaches.
    /// - Throws: ``BrokenInvariant``: the key cannot be read.
    static func key(bundles: Set<String>) throws(BrokenInvariant) -> KnownProviderKey {
        do throws(TLSConfigurationError) {
            let publicKey = try ProviderPublicKey(pem: Array(publicKey.utf8))
            guard let id = ProviderKeyID(team: "TEAM", key: "FUZZ") else { throw .init(.invalidName("FUZZ")) }
            return KnownProviderKey(id: id, publicKey: publicKey, isOfEnvironment: true, bundles: bundles)
        } catch {
            throw BrokenInvariant(description: "the key of the provider token: \(error)")
        }
    }

    static func replaced(in stream: [UInt8]) -> [UInt8] {
        var replaced = stream
        var offset = 0
        while offset + token.count <= stream.count {
            guard stream[offset...].starts(with: mark) else {
                offset += 1
                continue
            }
            replaced.replaceSubrange(offset..<offset + token.count, with: token)
            offset += token.count
        }
        return replaced
    }
}
