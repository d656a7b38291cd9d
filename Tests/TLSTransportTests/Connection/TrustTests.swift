import NIOCore
import NIOPosix
import Testing

@testable import TLSTransport

/// Admission and refusal of peers, and the errors that each side gets.
@Suite(.timeLimit(.minutes(2)))
struct TrustTests {
    /// The client says hello, the server answers and closes.
    static let hello = Recorder.Script(onHandshake: { context, me in me.send([1, 2, 3], context) })
    static let answerAndClose = Recorder.Script(onBytes: { context, me in
        me.send(me.seen.bytes.reversed(), context)
        context.close(promise: nil)
    })

    @Test("Both sides see each other's certificate, in both TLS versions", arguments: Version.allCases)
    func mutualAuthentication(version: Version) async throws {
        let (client, server) = try await Loopback(
            client: .testClient(version: version),
            server: .testServer(),
            clientScript: Self.hello,
            serverScript: Self.answerAndClose
        ).run()
        #expect(client.bytes == [3, 2, 1])
        #expect(server.bytes == [1, 2, 3])
        #expect(client.errors.isEmpty && server.errors.isEmpty)
        #expect(client.handshake?.version == version.rawValue)
        #expect(client.handshake?.peer == TestPKI.server.certificate)
        #expect(server.handshake?.peer == TestPKI.client.certificate)
        #expect(server.handshake?.peer?.topic == TestPKI.bundleID)
        #expect(server.handshake?.cipher == client.handshake?.cipher)
        #expect(client.last == .inactive && server.last == .inactive)
    }

    @Test("A server that is not under our roots is refused, and the alert tells it why")
    func wrongAuthority() async throws {
        let (client, server) = try await Loopback(
            client: .testClient(trust: TestPKI.strangeTrust),
            server: .testServer()
        ).run()
        #expect(client.handshake == nil)
        guard case .some(.peerNotTrusted(let reason, "localhost", let stack)) = client.errors.first ?? nil else {
            Issue.record("\(client)")
            return
        }
        #expect(reason.contains("issuer") || reason.contains("self-signed"))
        #expect(stack.contains { $0.contains("certificate verify failed") })
        #expect((server.errors.first ?? nil)?.isCertificateRefused == true)
    }

    @Test(
        "The certificate must be for the host that was asked for",
        arguments: [
            ("localhost", true), ("127.0.0.1", true), ("::1", true), ("gateway.example.com", true),
            ("gateway.example.com.", true), ("a.wild.example.com", true),
            ("other.example.com", false), ("127.0.0.2", false), ("example.com", false),
            ("a.b.wild.example.com", false), ("local", false), ("", false), ("localhost\0.evil", false),
        ]
    )
    func hostName(name: String, accepted: Bool) async throws {
        let (client, _) = try await Loopback(
            client: .testClient(),
            server: .testServer(),
            serverName: name,
            clientScript: Self.hello,
            serverScript: Self.answerAndClose
        ).run()
        if accepted {
            #expect(client.bytes == [3, 2, 1])
            #expect(client.errors.isEmpty)
        } else {
            #expect(client.handshake == nil && client.bytes.isEmpty)
            guard case .some(.peerNotTrusted(_, name, _)) = client.errors.first ?? nil else {
                Issue.record("\(client)")
                return
            }
        }
    }

    /// A certificate the server refuses, the alert per version, and what the server says of it.
    struct Refusal: Sendable {
        var identity: TLSIdentity?
        var alerts: [Version: TLSAlert]
        var serverReason: String
    }

    static let refusals = [
        Refusal(
            identity: nil,
            alerts: [.tls12: .handshakeFailure, .tls13: .certificateRequired],
            serverReason: "no certificate was shown"
        ),
        Refusal(
            identity: TestPKI.expiredClient,
            alerts: [.tls12: .certificateExpired, .tls13: .certificateExpired],
            serverReason: "certificate has expired"
        ),
        Refusal(
            identity: TestPKI.strangeClient,
            alerts: [.tls12: .unknownCA, .tls13: .unknownCA],
            serverReason: "unable to get local issuer certificate"
        ),
    ]

    @Test(
        "A refused client certificate is recognised by its alert, before or after the client's handshake",
        arguments: refusals.indices,
        Version.allCases
    )
    func refusedClient(index: Int, version: Version) async throws {
        let refusal = Self.refusals[index]
        let (client, server) = try await Loopback(
            client: .testClient(refusal.identity, version: version),
            server: .testServer(),
            clientScript: Self.hello
        ).run()
        let alert = try #require(refusal.alerts[version])
        #expect(client.errors.count == 1)
        guard case .some(.certificateRefused(alert, let stack)) = client.errors.first ?? nil else {
            Issue.record("\(client)")
            return
        }
        #expect(stack.contains { $0.contains("alert number \(alert.rawValue)") })
        // The client of TLS 1.3 is done before the server has judged it.
        #expect((client.handshake != nil) == (version == .tls13))
        #expect(server.handshake == nil && server.bytes.isEmpty)
        guard case .some(.peerNotTrusted(let reason, nil, _)) = server.errors.first ?? nil else {
            Issue.record("\(server)")
            return
        }
        #expect(reason.hasPrefix(refusal.serverReason))
    }

    @Test("A refusal reaches a client that is busy writing", arguments: 0..<20)
    func refusalWhileWriting(round: Int) async throws {
        let (client, _) = try await Loopback(
            client: .testClient(TestPKI.expiredClient),
            server: .testServer(),
            clientScript: .writingForEver
        ).run()
        #expect(client.errors.count == 1)
        #expect((client.errors.first ?? nil)?.isCertificateRefused == true, "\(client)")
    }

    @Test("A certificate that is not required may be missing, one that is shown is still judged")
    func optionalCertificate() async throws {
        for identity in [nil, TestPKI.client, TestPKI.strangeClient] {
            let (client, server) = try await Loopback(
                client: .testClient(identity),
                server: .testServer(required: false),
                clientScript: Self.hello,
                serverScript: Self.answerAndClose
            ).run()
            if identity?.certificate == TestPKI.strangeClient.certificate {
                #expect((client.errors.first ?? nil)?.isCertificateRefused == true)
            } else {
                #expect(client.bytes == [3, 2, 1])
                #expect(server.handshake?.peer == identity?.certificate)
            }
        }
    }

    @Test("Without roots for clients a server does not ask for a certificate")
    func noClientTrust() async throws {
        let (client, server) = try await Loopback(
            client: .testClient(),
            server: .testServer(trust: nil, required: false),
            clientScript: Self.hello,
            serverScript: Self.answerAndClose
        ).run()
        #expect(client.bytes == [3, 2, 1])
        #expect(server.handshake != nil && server.handshake?.peer == nil)
    }

    @Test("All of OpenSSL's words reach the text of an error, each once")
    func words() async throws {
        let (client, _) = try await Loopback(
            client: .testClient(trust: TestPKI.strangeTrust),
            server: .testServer()
        ).run()
        let error = try #require(client.errors.first ?? nil)
        #expect(!error.openSSLErrors.isEmpty)
        for words in error.openSSLErrors { #expect("\(error)".contains(words)) }
        #expect(
            "\(TLSError.protocolFailure(reason: "first", openSSLErrors: ["first", "second", "third"]))"
                == "TLS failed: first [OpenSSL: second; third]"
        )
        #expect("\(TLSError.protocolFailure(reason: "first", openSSLErrors: ["first"]))" == "TLS failed: first")
        #expect(
            "\(TLSConfigurationError(.rejected("not usable: first"), openSSLErrors: ["first", "second"]))"
                == "not usable: first [OpenSSL: second]"
        )
    }

    @Test("Versions below the minimum are refused")
    func minimumVersion() async throws {
        let server = try TLSContext(
            server: TestPKI.server,
            clientTrust: nil,
            requireClientCertificate: false,
            minimumVersion: .tls13
        )
        let (client, _) = try await Loopback(client: .testClient(version: .tls12), server: server).run()
        guard case .some(.protocolFailure(let reason, _)) = client.errors.first ?? nil else {
            Issue.record("\(client)")
            return
        }
        #expect(reason.contains("protocol version"))
    }
}
