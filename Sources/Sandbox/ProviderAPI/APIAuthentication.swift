import APNsProtocol
import TLSTransport

/// The provider behind one connection, as its certificate or its provider tokens say.
///
/// A client certificate decides alone; provider tokens are for connections without one [later].
///
/// The clock is an argument.
struct APIAuthentication {
    private enum Basis {
        case certificate(ProviderCredential, bundle: String)
        /// A certificate with which no client is served.
        case refused(ProviderReason)
        case tokens
    }

    private let basis: Basis
    private var verifier: ProviderTokenVerifier
    private var tokens: ConnectionTokens
    /// By the key's id.
    private let credentials: [String: ProviderCredential]
    /// The last token, and what it reaches.
    private var last: (token: ProviderToken, credential: ProviderCredential)?

    /// - Parameters:
    ///   - certificate: the client's, nil: it showed none.
    ///   - tokens: the rules for those of this connection.
    ///   - keys: those that the service knows.
    ///   - served: the bundle IDs of the service.
    init(
        certificate: CertificateInfo?,
        tokens: ConnectionTokens,
        environment: PushEnvironment,
        keys: [KnownProviderKey],
        served: Set<String>
    ) {
        basis = certificate.map { Self.basis($0, environment, served) } ?? .tokens
        self.tokens = tokens
        verifier = ProviderTokenVerifier(
            keys: keys.map { .init(id: $0.id, publicKey: $0.publicKey, isOfEnvironment: $0.isOfEnvironment) }
        )
        credentials = Dictionary(
            keys.map { ($0.id.key, .providerToken(bundles: $0.bundles.intersection(served))) },
            uniquingKeysWith: { _, new in new }
        )
    }

    private static func basis(
        _ certificate: CertificateInfo,
        _ environment: PushEnvironment,
        _ served: Set<String>
    ) -> Basis {
        guard let subject = certificate.topic, let bundle = certificate.bundleID, served.contains(bundle) else {
            return .refused(.badCertificate)
        }
        guard certificate.environments.contains(environment.ofCertificates) else {
            return .refused(.badCertificateEnvironment)
        }
        // Other bundles than the subject's are not for this certificate, whatever its extension says [ours].
        let topics = certificate.topics.filter { PushType.named(bySuffixOf: $0)?.bundle(ofTopic: $0) == bundle }
        return .certificate(.certificate(subject: subject, topics: topics), bundle: bundle)
    }

    /// The connection is one for provider tokens.
    var isByToken: Bool {
        if case .tokens = basis { true } else { false }
    }

    /// The certificate's bundle ID; nil without one that is served.
    var bundle: String? {
        if case .certificate(_, let bundle) = basis { bundle } else { nil }
    }

    /// The certificate is of the other environment: no request is answered at all [field].
    var hasForeignEnvironment: Bool {
        if case .refused(.badCertificateEnvironment) = basis { true } else { false }
    }

    /// Finds the reach of a request's provider.
    ///
    /// - Parameters:
    ///   - authorization: the value of the header; nil: absent. Ignored beside a certificate [later].
    ///   - now: UNIX seconds, by the service's clock.
    /// - Throws: the reasons of provider tokens, or `BadCertificate`.
    mutating func credential(
        _ authorization: UnsafeRawBufferPointer?,
        now: Int64
    ) throws(ProviderReason) -> ProviderCredential {
        switch basis {
        case .certificate(let credential, _): return credential
        case .refused(let reason): throw reason
        case .tokens: break
        }
        let token = try verifiedToken(authorization, now: now)
        if let last, last.token == token { return last.credential }
        guard let credential = credentials[token.key.key] else { throw .invalidProviderToken }
        last = (token, credential)
        return credential
    }

    private mutating func verifiedToken(
        _ authorization: UnsafeRawBufferPointer?,
        now: Int64
    ) throws(ProviderReason) -> ProviderToken {
        do throws(ProviderReason) {
            let signed = try verifier.verify(authorization: authorization, now: now)
            try tokens.takeToken(signed, now: now)
            return signed.token
        } catch {
            if error == .expiredProviderToken { tokens.wedge() }
            throw error
        }
    }
}
