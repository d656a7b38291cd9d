import COpenSSL

@testable import TLSTransport

/// One authority, made once, and what it signs: keys take time.
enum TestPKI {
    static let bundleID = "com.example.news"
    static let authority = make { () throws(TLSConfigurationError) in try CertificateAuthority() }
    static let strangeAuthority = make { () throws(TLSConfigurationError) in
        try CertificateAuthority(commonName: "Somebody Else")
    }
    static let server = make { () throws(TLSConfigurationError) in
        try authority.issueServer(names: ["gateway.example.com", "*.wild.example.com"])
    }
    static let client = make { () throws(TLSConfigurationError) in try authority.issueClient(bundleID: bundleID) }
    static let strangeClient = make { () throws(TLSConfigurationError) in
        try strangeAuthority.issueClient(bundleID: bundleID)
    }
    static let expiredClient = make { () throws(TLSConfigurationError) in
        try authority.issueClient(bundleID: bundleID, validity: 1_000_000_000...1_100_000_000)
    }
    static let trust = make { () throws(TLSConfigurationError) in TLSTrust.pem(try authority.rootPEM()) }
    static let strangeTrust = make { () throws(TLSConfigurationError) in
        TLSTrust.pem(try strangeAuthority.rootPEM())
    }

    private static func make<Value>(_ body: () throws(TLSConfigurationError) -> Value) -> Value {
        do throws(TLSConfigurationError) {
            return try body()
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// The two versions, for tests of what differs between them.
enum Version: String, CaseIterable, Sendable {
    case tls12 = "TLSv1.2"
    case tls13 = "TLSv1.3"
}

extension TLSContext {
    static func testClient(
        _ identity: TLSIdentity? = TestPKI.client,
        trust: TLSTrust = TestPKI.trust,
        version: Version = .tls13,
        protocols: [String] = []
    ) throws -> TLSContext {
        let context = try TLSContext(client: identity, trust: trust, protocols: protocols)
        context.limit(to: version)
        return context
    }

    static func testServer(
        _ identity: TLSIdentity = TestPKI.server,
        trust: TLSTrust? = TestPKI.trust,
        required: Bool = true,
        protocols: [String] = [],
        refusesOtherProtocols: Bool = true
    ) throws -> TLSContext {
        try TLSContext(
            server: identity,
            clientTrust: trust,
            requireClientCertificate: required,
            protocols: protocols,
            refusesOtherProtocols: refusesOtherProtocols
        )
    }

    /// Contexts have no upper limit of their own.
    private func limit(to version: Version) {
        let number = version == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION
        let result = SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(number), nil)
        precondition(result == 1)
    }
}
