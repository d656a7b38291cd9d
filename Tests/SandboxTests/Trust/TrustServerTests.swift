import APNsProtocol
import Foundation
import TLSTransport
import Testing

@testable import Sandbox

/// Admission of providers, over real TLS.
@Suite(.timeLimit(.minutes(2)))
struct TrustServerTests {
    private static let topic = RunningSandbox.topics[0]

    /// Sends a notification and a sentinel. `nil`: the connection was refused.
    private func answer(_ provider: Provider, token: [UInt8], payload: [UInt8]? = nil) async throws -> ErrorResponse? {
        provider.send(
            Frame.command2(identifier: 1, token: token, payload: payload) + Frame.sentinel(identifier: 2)
        )
        return try await provider.end.get().answer
    }

    private static let accepted = ErrorResponse(status: .missingDeviceToken, identifier: 2)

    private func authority(of sandbox: RunningSandbox) throws -> CertificateAuthority {
        CertificateAuthority(root: try TLSIdentity(pemFile: sandbox.pki.authorityKeyFile))
    }

    // MARK: Environments

    private func runProduction(_ body: (RunningSandbox) async throws -> Void) async throws {
        try await RunningSandbox.run(
            configure: { configuration in
                configuration.environment = .production
                try Sandbox.writeCertificates(
                    directory: configuration.pkiDirectory,
                    topics: RunningSandbox.topics,
                    environment: .production
                )
            },
            body
        )
    }

    @Test("In production its own certificates and tokens count")
    func production() async throws {
        try await runProduction { sandbox in
            var printed: [String] = []
            try Sandbox.forEachToken(
                pkiDirectory: sandbox.pki.directory,
                topic: Self.topic,
                first: 5,
                count: 1,
                environment: .production
            ) { printed.append($0) }
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
            #expect(try await answer(provider, token: Hex.decode(printed[0])) == Self.accepted)
            #expect(try await sandbox.stats()["accepted"] == .integer(1))
        }
    }

    @Test("A certificate of the other environment is refused at both doors, in both environments")
    func otherCertificate() async throws {
        try await runProduction { sandbox in
            try await expectRefusal(sandbox, DevelopmentPKI(directory: sandbox.pki.directory))
        }
        try await RunningSandbox.run { sandbox in
            let directory = sandbox.pki.directory
            try Sandbox.writeCertificates(directory: directory, topics: [Self.topic], environment: .production)
            try await expectRefusal(sandbox, DevelopmentPKI(directory: directory, environments: .production))
        }
    }

    private func expectRefusal(_ sandbox: RunningSandbox, _ pki: DevelopmentPKI) async throws {
        let identity = try TLSIdentity(pemFile: pki.pemFile(bundleID: Self.topic))
        for port in [sandbox.server.ports.gateway, sandbox.server.ports.feedback] {
            let provider = try await sandbox.connect(to: port, identity: identity)
            #expect(try await answer(provider, token: sandbox.token(1)) == nil)
        }
        #expect(try await sandbox.refusedConnections() == 2)
        #expect(try await sandbox.stats()["accepted"] == .integer(0))
    }

    @Test("A token of the other environment has status 8, made with its key or with this one's")
    func otherToken() async throws {
        try await runProduction { sandbox in
            let development = DevelopmentPKI(directory: sandbox.pki.directory)
            for key in [try development.tokenKey(), try sandbox.pki.tokenKey()] {
                let mint = TokenMint(key: key, environment: .development, topic: Self.topic)
                let provider = try await sandbox.connect(to: sandbox.server.ports.gateway)
                let token = mint.token(of: AppInstance(device: 1))
                let refusal = ErrorResponse(status: .invalidToken, identifier: 1)
                #expect(try await answer(provider, token: token) == refusal)
            }
        }
    }

    @Test("A token key that the environment lacks is named at start")
    func missingKey() async {
        let error = await #expect(throws: SandboxSetupError.self) {
            try await RunningSandbox.run(configure: { $0.environment = .production }, { _ in })
        }
        #expect(error?.subject.hasSuffix("/token.production.key") == true)
    }

    // MARK: Topics and validity

    @Test("A certificate that is expired or not valid yet is refused by an alert, at both doors")
    func validity() async throws {
        try await RunningSandbox.run { sandbox in
            let ranges: [ClosedRange<Int64>] = [1_000_000_000...1_100_000_000, 4_000_000_000...4_100_000_000]
            for range in ranges {
                let identity = try authority(of: sandbox).issueClient(bundleID: Self.topic, validity: range)
                for port in [sandbox.server.ports.gateway, sandbox.server.ports.feedback] {
                    let end = try await sandbox.connect(to: port, identity: identity).end.get()
                    #expect(end.isCertificateRefused, "\(end)")
                    #expect(end.bytes.isEmpty)
                }
            }
            #expect(try await sandbox.refusedConnections() == 4)
        }
    }

    @Test("A certificate for a topic that is not served is refused")
    func unservedTopic() async throws {
        try await RunningSandbox.run { sandbox in
            let identity = try authority(of: sandbox).issueClient(bundleID: "com.example.other")
            let provider = try await sandbox.connect(to: sandbox.server.ports.gateway, identity: identity)
            #expect(try await answer(provider, token: sandbox.token(1)) == nil)
            #expect(try await sandbox.refusedConnections() == 1)
        }
    }

    @Test("A universal certificate speaks for its bundle ID; a token of any other topic has status 8")
    func universalCertificate() async throws {
        let (topic, other) = (RunningSandbox.topics[0], RunningSandbox.topics[1])
        try await RunningSandbox.run { sandbox in
            let identity = try authority(of: sandbox).issueClient(bundleID: topic, topics: [topic + ".voip", other])
            let own = try await sandbox.connect(to: sandbox.server.ports.gateway, identity: identity)
            #expect(try await answer(own, token: sandbox.token(1, topic: topic)) == Self.accepted)
            let foreign = try await sandbox.connect(to: sandbox.server.ports.gateway, identity: identity)
            let refusal = ErrorResponse(status: .invalidToken, identifier: 1)
            #expect(try await answer(foreign, token: sandbox.token(1, topic: other)) == refusal)
            #expect(try await sandbox.stats(topic: topic)["accepted"] == .integer(1))
            #expect(try await sandbox.stats(topic: other)["accepted"] == .integer(0))
        }
    }

    // MARK: Revocation

    @Test("A certificate that is revoked while the sandbox runs is refused by an alert at the next connection")
    func revokedWhileRunning() async throws {
        try await RunningSandbox.run { sandbox in
            let before = try await sandbox.connect(to: sandbox.server.ports.gateway)
            // Being connected does not mean that the service has looked at the certificate.
            before.send(Frame.command2(identifier: 0, token: try sandbox.token(2)))
            try await sandbox.wait(for: #""accepted":1"#)
            try Sandbox.revoke(pkiDirectory: sandbox.pki.directory, topics: [Self.topic])
            for port in [sandbox.server.ports.gateway, sandbox.server.ports.feedback] {
                let end = try await sandbox.connect(to: port).end.get()
                #expect(end.isCertificateRefused, "\(end)")
                #expect(end.error?.contains("certificate revoked") == true)
            }
            let other = try await sandbox.connect(to: sandbox.server.ports.gateway, topic: RunningSandbox.topics[1])
            let token = try sandbox.token(1, topic: RunningSandbox.topics[1])
            #expect(try await answer(other, token: token) == Self.accepted, "one topic's matter")
            #expect(try await answer(before, token: sandbox.token(1)) == Self.accepted, "open connections stay open")
            try Sandbox.revoke(pkiDirectory: sandbox.pki.directory, topics: [Self.topic], isUndone: true)
            let after = try await sandbox.connect(to: sandbox.server.ports.gateway)
            #expect(try await answer(after, token: sandbox.token(1)) == Self.accepted)
            #expect(try await sandbox.refusedConnections() == 2)
        }
    }

    @Test("A list that breaks or goes away while the sandbox runs leaves the last good one in force")
    func brokenWhileRunning() async throws {
        try await RunningSandbox.run { sandbox in
            try Sandbox.revoke(pkiDirectory: sandbox.pki.directory, topics: [Self.topic])
            let file = sandbox.pki.revocationFile
            let foreign = try CertificateAuthority().issueRevocationList(of: [], number: 9).pem()
            for bytes in [nil, [], Array("nonsense".utf8), foreign] as [[UInt8]?] {
                let end = try await sandbox.connect(to: sandbox.server.ports.gateway).end.get()
                #expect(end.isCertificateRefused, "before")
                if let bytes {
                    try Data(bytes).write(to: URL(filePath: file))
                } else {
                    try FileManager.default.removeItem(atPath: file)
                }
                let after = try await sandbox.connect(to: sandbox.server.ports.gateway).end.get()
                #expect(after.isCertificateRefused, "\(bytes?.count ?? -1)")
            }
            let other = try await sandbox.connect(to: sandbox.server.ports.gateway, topic: RunningSandbox.topics[1])
            let token = try sandbox.token(1, topic: RunningSandbox.topics[1])
            #expect(try await answer(other, token: token) == Self.accepted)
        }
    }

    @Test("A list that cannot be used is named at start, and so is one that was asked for and is not there")
    func unusableAtStart() async throws {
        for content in ["", "nonsense"] {
            let error = await #expect(throws: SandboxSetupError.self) {
                try await RunningSandbox.run(
                    configure: { try Data(content.utf8).write(to: URL(filePath: "\($0.pkiDirectory)/crl.pem")) },
                    { _ in }
                )
            }
            #expect(error?.subject.hasSuffix("/crl.pem") == true)
            #expect(error?.problem == "holds no certificate revocation list in PEM form")
        }
        let missing = await #expect(throws: SandboxSetupError.self) {
            try await RunningSandbox.run(configure: { $0.revocationFile = "\($0.pkiDirectory)/revoked" }, { _ in })
        }
        #expect(missing?.subject.hasSuffix("/revoked") == true)
        let foreign = try CertificateAuthority().issueRevocationList(of: [], number: 1).pem()
        let error = await #expect(throws: SandboxSetupError.self) {
            try await RunningSandbox.run(
                configure: { configuration in
                    configuration.revocationFile = "\(configuration.pkiDirectory)/revoked"
                    try Data(foreign).write(to: URL(filePath: configuration.revocationFile ?? ""))
                },
                { _ in }
            )
        }
        #expect(error?.problem.contains("not signed by the authority") == true)
    }
}

extension RunningSandbox {
    /// Connections that were turned away.
    func refusedConnections() async throws -> Int {
        let answer = try await control("GET", "/stats")
        let document = try JSONDecoder().decode([String: JSONValue].self, from: Data(answer.body.utf8))
        guard case .object(let connections)? = document["connections"],
            case .integer(let refused)? = connections["refused"]
        else { return -1 }
        return refused
    }
}
