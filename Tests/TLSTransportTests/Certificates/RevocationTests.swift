import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// Certificates that their authority has withdrawn.
@Suite(.timeLimit(.minutes(2)))
struct RevocationTests {
    let directory = TemporaryDirectory()

    private func list(
        _ identities: [TLSIdentity],
        by authority: CertificateAuthority = TestPKI.authority,
        validity: ClosedRange<Int64>? = nil
    ) throws -> RevocationList {
        let entries = identities.map {
            RevocationList.Entry(serialHex: $0.certificate.serialHex, revokedAt: 1_400_000_000)
        }
        return try authority.issueRevocationList(of: entries, number: 7, validity: validity)
    }

    private func meet(
        _ client: TLSIdentity,
        trust: TLSTrust = TestPKI.trust,
        _ revocations: RevocationList,
        version: Version = .tls13
    ) async throws -> (client: [Seen], server: [Seen]) {
        let server = try TLSContext(
            server: TestPKI.server,
            clientTrust: trust,
            requireClientCertificate: true,
            revocations: revocations
        )
        return try await Loopback(
            client: .testClient(client, version: version),
            server: server,
            clientScript: TrustTests.hello,
            serverScript: TrustTests.answerAndClose
        ).run()
    }

    @Test(
        "A revoked certificate is refused in the handshake, and the alert says that it was",
        arguments: Version.allCases
    )
    func refused(version: Version) async throws {
        let (client, server) = try await meet(TestPKI.client, list([TestPKI.client]), version: version)
        guard case .some(.certificateRefused(.certificateRevoked, _)) = client.errors.first ?? nil else {
            Issue.record("\(client)")
            return
        }
        #expect((client.errors.first ?? nil)?.isCertificateRefused == true)
        #expect(server.handshake == nil && server.bytes.isEmpty)
        guard case .some(.peerNotTrusted("certificate revoked", nil, _)) = server.errors.first ?? nil else {
            Issue.record("\(server)")
            return
        }
    }

    @Test("A list of others lets a certificate in, an empty one does")
    func accepted() async throws {
        let other = try TestPKI.authority.issueClient(bundleID: TestPKI.bundleID)
        for revocations in [try list([other]), try list([])] {
            #expect(try await meet(TestPKI.client, revocations).client.bytes == [3, 2, 1])
        }
    }

    @Test("A list that is overdue, or dated in the future, stays in force and shuts no other client out")
    func overdue() async throws {
        let other = try TestPKI.authority.issueClient(bundleID: TestPKI.bundleID)
        for validity in [1_000_000_000...1_000_000_001, 4_000_000_000...4_000_000_001] as [ClosedRange<Int64>] {
            let revocations = try list([TestPKI.client], validity: validity)
            #expect(try await meet(other, revocations).client.bytes == [3, 2, 1])
            let refused = try await meet(TestPKI.client, revocations).client
            #expect((refused.errors.first ?? nil)?.isCertificateRefused == true)
        }
    }

    @Test("A list does not excuse what else is wrong with a certificate")
    func otherFaultsStay() async throws {
        for identity in [TestPKI.expiredClient, TestPKI.strangeClient] {
            let (client, server) = try await meet(identity, list([]))
            #expect((client.errors.first ?? nil)?.isCertificateRefused == true)
            #expect(server.handshake == nil)
        }
    }

    @Test("A list says nothing about the certificates of another issuer")
    func otherIssuer() async throws {
        let both = TLSTrust.pem(try TestPKI.authority.rootPEM() + TestPKI.strangeAuthority.rootPEM())
        let (client, _) = try await meet(TestPKI.strangeClient, trust: both, list([TestPKI.strangeClient]))
        #expect(client.bytes == [3, 2, 1])
    }

    private func meetServer(_ server: TLSIdentity, _ trust: TLSTrust, _ list: RevocationList) async throws -> [Seen] {
        let (client, _) = try await Loopback(
            client: TLSContext(client: TestPKI.client, trust: trust, revocations: list),
            server: .testServer(server),
            clientScript: TrustTests.hello,
            serverScript: TrustTests.answerAndClose
        ).run()
        return client
    }

    @Test("A client with a list refuses a server that is in it, and no other, also when the list is overdue")
    func revokedServer() async throws {
        for validity in [nil, 1_000_000_000...1_000_000_001] as [ClosedRange<Int64>?] {
            let revoking = try list([TestPKI.server], validity: validity)
            let refused = try await meetServer(TestPKI.server, TestPKI.trust, revoking)
            guard case .some(.peerNotTrusted("certificate revoked", _, _)) = refused.errors.first ?? nil else {
                Issue.record("\(refused)")
                continue
            }
            #expect(refused.handshake == nil)
            let sparing = try list([TestPKI.client], validity: validity)
            #expect(try await meetServer(TestPKI.server, TestPKI.trust, sparing).bytes == [3, 2, 1])
        }
    }

    @Test("A client with a list refuses a server of whose issuer the list says nothing")
    func silentList() async throws {
        let both = TLSTrust.pem(try TestPKI.authority.rootPEM() + TestPKI.strangeAuthority.rootPEM())
        let strange = try TestPKI.strangeAuthority.issueServer()
        let seen = try await meetServer(strange, both, list([]))
        guard case .some(.peerNotTrusted(let reason, _, _)) = seen.errors.first ?? nil else {
            Issue.record("\(seen)")
            return
        }
        #expect(reason == "unable to get certificate CRL")
    }

    @Test("A list survives being written and read, and OpenSSL's own program reads it")
    func roundTrip() throws {
        let written = try list([TestPKI.client, TestPKI.expiredClient])
        let file = "\(directory.path)/crl.pem"
        try Data(written.pem()).write(to: URL(fileURLWithPath: file))
        let read = try RevocationList(pemFile: file, issuedBy: TestPKI.trust)
        #expect(read.entries == written.entries)
        #expect(Set(read.entries.map(\.serialHex)).contains(TestPKI.client.certificate.serialHex))
        #expect(read.entries.allSatisfy { $0.revokedAt == 1_400_000_000 })
        #expect(read.number == 7)
        let authority = "\(directory.path)/ca.pem"
        try Data(TestPKI.authority.rootPEM()).write(to: URL(fileURLWithPath: authority))
        let shown = try ForeignProcess.openssl("crl", "-in", file, "-CAfile", authority, "-noout", "-text")
        #expect(shown.status == 0 && shown.errors.contains("verify OK"), "\(shown.errors)")
        #expect(String(decoding: shown.output, as: UTF8.self).contains("Authority Key Identifier"))
    }

    @Test("Files that are no list of this authority are named together with what is wrong")
    func badFiles() throws {
        let genuine = try list([TestPKI.client]).pem()
        var damaged = genuine
        damaged[100] = damaged[100] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let table: [(String, [UInt8], TLSConfigurationError.Reason?)] = [
            ("empty", [], .noRevocationList),
            ("text", Array("not a list".utf8), .noRevocationList),
            ("certificate", try TestPKI.authority.rootPEM(), .noRevocationList),
            ("foreign", try list([], by: TestPKI.strangeAuthority).pem(), .foreignRevocationList),
            ("cut", Array(genuine.dropLast(60)), nil),
            ("damaged", damaged, nil),
            ("two", genuine + genuine, .rejected("holds 2 revocation lists, one is expected")),
        ]
        for (name, bytes, reason) in table {
            let file = "\(directory.path)/\(name)"
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let error = #expect(throws: TLSConfigurationError.self, "\(name)") {
                try RevocationList(pemFile: file, issuedBy: TestPKI.trust)
            }
            #expect(error?.file == file)
            if let reason { #expect(error?.reason == reason) }
        }
        let error = #expect(throws: TLSConfigurationError.self) {
            try RevocationList(pemFile: "\(directory.path)/none", issuedBy: TestPKI.trust)
        }
        #expect(error?.reason == .unreadable("No such file or directory"))
    }

    @Test("An authority of the same name but with another key cannot revoke")
    func impostor() throws {
        let impostor = try CertificateAuthority(commonName: TestPKI.authority.root.certificate.commonName)
        let error = #expect(throws: TLSConfigurationError.self) {
            try RevocationList(pem: list([], by: impostor).pem(), issuedBy: TestPKI.trust)
        }
        #expect(error?.reason == .foreignRevocationList)
    }

    @Test("Serial numbers that are none are named", arguments: ["", "xyz", "12 34", "12G"])
    func badSerial(text: String) {
        let error = #expect(throws: TLSConfigurationError.self) {
            try TestPKI.authority.issueRevocationList(
                of: [RevocationList.Entry(serialHex: text, revokedAt: 0)],
                number: 1
            )
        }
        #expect(error?.reason == .invalidName(text))
    }
}
