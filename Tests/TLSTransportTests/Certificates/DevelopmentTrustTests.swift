import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// The two environments and the revocation list in one directory.
struct DevelopmentTrustTests {
    let directory = TemporaryDirectory()

    @Test("Production lies beside development: certificates and token key of its own, one authority and server")
    func twoEnvironments() throws {
        let development = try writeDevelopmentPKI(directory: directory.path, topics: ["a.b"])
        let server = try TLSIdentity(pemFile: development.serverFile).certificate
        let production = try writeDevelopmentPKI(
            directory: directory.path,
            topics: ["a.b"],
            environments: .production
        )
        #expect(production.pemFile(bundleID: "a.b") == "\(directory.path)/a.b.production.pem")
        #expect(production.pkcs12File(bundleID: "a.b") == "\(directory.path)/a.b.production.p12")
        #expect(production.tokenKeyFile == "\(directory.path)/token.production.key")
        let certificate = try TLSIdentity(pemFile: production.pemFile(bundleID: "a.b")).certificate
        #expect(certificate.environments == .production && certificate.topic == "a.b")
        #expect(try TLSIdentity(pemFile: development.pemFile(bundleID: "a.b")).certificate.environments == .development)
        #expect(try TLSIdentity(pemFile: production.serverFile).certificate == server)
        #expect(try production.tokenKey() != development.tokenKey())
        let verified = try ForeignProcess.openssl(
            "verify",
            "-CAfile",
            development.authorityFile,
            production.pemFile(bundleID: "a.b")
        )
        #expect(verified.status == 0)
    }

    @Test("A file that holds another topic's or environment's certificate is named and not handed out")
    func clashingNames() throws {
        let pki = try writeDevelopmentPKI(directory: directory.path, topics: ["a.b.production"])
        let error = #expect(throws: TLSConfigurationError.self) {
            try writeDevelopmentPKI(directory: directory.path, topics: ["a.b"], environments: .production)
        }
        #expect(error?.file == pki.pemFile(bundleID: "a.b.production"))
        #expect(
            #expect(throws: TLSConfigurationError.self) {
                try writeDevelopmentPKI(directory: directory.path, topics: ["crl"])
            }?.reason == .invalidName("crl")
        )
    }

    private func revoked(_ pki: DevelopmentPKI) throws -> RevocationList {
        try RevocationList(pemFile: pki.revocationFile, issuedBy: .file(pki.authorityFile))
    }

    @Test("Revoking adds to the list, keeps the first date and counts the lists; undoing takes off")
    func revoking() throws {
        let pki = try writeDevelopmentPKI(directory: directory.path, topics: ["a", "b"])
        let serial = { (name: String) in try TLSIdentity(pemFile: pki.pemFile(bundleID: name)).certificate.serialHex }
        try pki.revoke(bundleIDs: ["a"], now: 1000)
        #expect(try revoked(pki).entries == [.init(serialHex: serial("a"), revokedAt: 1000)])
        #expect(try revoked(pki).number == 1)
        try pki.revoke(bundleIDs: ["b", "a", "b"], now: 2000)
        #expect(
            try Set(revoked(pki).entries)
                == [.init(serialHex: serial("a"), revokedAt: 1000), .init(serialHex: serial("b"), revokedAt: 2000)]
        )
        #expect(try revoked(pki).number == 2)
        for _ in 0..<2 {
            try pki.revoke(bundleIDs: ["a"], isUndone: true, now: 3000)
            #expect(try revoked(pki).entries.map(\.serialHex) == [serial("b")])
        }
        let mode = try FileManager.default.attributesOfItem(atPath: pki.revocationFile)[.posixPermissions] as? Int
        #expect(mode == 0o644)
    }

    @Test("The certificate of one environment is revoked without the other's")
    func revokingOneEnvironment() throws {
        try writeDevelopmentPKI(directory: directory.path, topics: ["a"])
        let production = try writeDevelopmentPKI(directory: directory.path, topics: ["a"], environments: .production)
        try production.revoke(bundleIDs: ["a"])
        let serial = try TLSIdentity(pemFile: production.pemFile(bundleID: "a")).certificate.serialHex
        #expect(try revoked(production).entries.map(\.serialHex) == [serial])
    }

    @Test("What stands in the way of revoking is named, and the list stays as it was")
    func revokingFails() throws {
        let pki = try writeDevelopmentPKI(directory: directory.path, topics: ["a"])
        let missing = #expect(throws: TLSConfigurationError.self) { try pki.revoke(bundleIDs: ["a", "x"]) }
        #expect(missing?.file == pki.pemFile(bundleID: "x"))
        #expect(
            #expect(throws: TLSConfigurationError.self) { try pki.revoke(bundleIDs: ["../a"]) }?.reason
                == .invalidName("../a")
        )
        #expect(!FileManager.default.fileExists(atPath: pki.revocationFile))
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: pki.revocationFile))
        let damaged = #expect(throws: TLSConfigurationError.self) { try pki.revoke(bundleIDs: ["a"]) }
        #expect(damaged == TLSConfigurationError(.noRevocationList, file: pki.revocationFile))
        #expect(FileManager.default.contents(atPath: pki.revocationFile) == Data("nonsense".utf8))
    }

    @Test("A universal certificate names its topics as Apple's do, the bundle ID first", arguments: [1, 40])
    func universalCertificate(count: Int) throws {
        let topics = (0..<count).map { "a.b.topic-\($0)" }
        let identity = try TestPKI.authority.issueClient(bundleID: "a.b", topics: topics)
        #expect(identity.certificate.topic == "a.b")
        #expect(identity.certificate.topics == ["a.b"] + topics)
        let text = try ForeignProcess.openssl("asn1parse", input: String(decoding: identity.pem(), as: UTF8.self))
        #expect(String(decoding: text.output, as: UTF8.self).contains("1.2.840.113635.100.6.3.6"))
        #expect(
            #expect(throws: TLSConfigurationError.self) {
                try TestPKI.authority.issueClient(bundleID: "a.b", topics: ["a/b"])
            }?.reason == .invalidName("a/b")
        )
    }
}
