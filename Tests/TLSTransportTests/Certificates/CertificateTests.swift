import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// The fields of a certificate, and those that our authority puts in.
struct CertificateTests {
    @Test("Topic and environments are read from the certificate as it was issued", arguments: [1, 2, 3] as [UInt8])
    func issued(rawEnvironments: UInt8) throws {
        let environments = CertificateInfo.Environments(rawValue: rawEnvironments)
        let prefix =
            switch environments {
            case .development: "Apple Development IOS Push Services: "
            case .production: "Apple Production IOS Push Services: "
            default: "Apple Push Services: "
            }
        // Longer than the 64 characters that X.520 allows a common name.
        let bundleID = "com.example." + String(repeating: "long-", count: 12) + "name"
        let info = try TestPKI.authority.issueClient(bundleID: bundleID, environments: environments).certificate
        #expect(info.topic == bundleID)
        #expect(info.topics == [bundleID])
        #expect(info.environments == environments)
        #expect(info.commonName == prefix + bundleID)
    }

    @Test("Validity is given in UNIX seconds, both ends included")
    func validity() {
        let info = TestPKI.expiredClient.certificate
        #expect(info.notBefore == 1_000_000_000 && info.notAfter == 1_100_000_000)
        #expect(info.isValid(at: 1_000_000_000) && info.isValid(at: 1_100_000_000))
        #expect(!info.isValid(at: 999_999_999) && !info.isValid(at: 1_100_000_001))
    }

    @Test("The chain is told by name: what is sent, who issued the last, and where it breaks")
    func chain() throws {
        let leaf = try TestPKI.client.pem()
        let own = "Apple Development IOS Push Services: \(TestPKI.bundleID)"
        let root = TestPKI.authority.root.certificate.commonName
        #expect(TestPKI.client.chain == CertificateChain(subjects: [own], issuer: root, gap: nil))
        let whole = try TLSIdentity(pem: leaf + TestPKI.authority.rootPEM()).chain
        #expect(whole == CertificateChain(subjects: [own, root], issuer: nil, gap: nil))
        let broken = try TLSIdentity(pem: leaf + TestPKI.strangeAuthority.rootPEM()).chain
        #expect(broken == CertificateChain(subjects: [own, "Somebody Else"], issuer: nil, gap: 0))
    }

    @Test("A server's certificate has no topic")
    func serverHasNoTopic() {
        #expect(TestPKI.server.certificate.topic == nil)
        #expect(TestPKI.server.certificate.topics.isEmpty)
    }

    @Test("Without UID the topic, without extensions the environment come from the common name")
    func fromCommonName() throws {
        for (name, topic, environments) in [
            ("Apple Development IOS Push Services: a.b", "a.b", CertificateInfo.Environments.development),
            ("Apple Production IOS Push Services: a.b", "a.b", .production),
            ("Apple Push Services: a.b", "a.b", [.development, .production]),
            ("gateway.example.com", nil, [.development, .production]),
            ("Push Services: ", nil, [.development, .production]),
        ] {
            let info = try Self.selfSigned("/CN=\(name)")
            #expect(info.commonName == name)
            #expect(info.topic == topic)
            #expect(info.environments == environments)
        }
    }

    @Test("The certificate of VoIP Services is told by its common name, and belongs to the app before the suffix")
    func voipServices() throws {
        for (subject, topic, isVoIP) in [
            ("/UID=a.b.voip/CN=VoIP Services: a.b", "a.b.voip", true), ("/CN=VoIP Services: a.b", "a.b.voip", true),
            ("/UID=a.b/CN=VoIP Services: a.b", "a.b.voip", true), ("/CN=VoIP Services: ", nil, true),
            ("/UID=a.b.voip/CN=Apple Push Services: a.b.voip", "a.b.voip", false),
        ] as [(String, String?, Bool)] {
            let info = try Self.selfSigned(subject)
            #expect(info.topic == topic && info.isVoIP == isVoIP, "\(subject)")
            #expect(info.bundleID == (isVoIP ? topic.map { _ in "a.b" } : topic), "\(subject)")
            #expect(info.environments == [.development, .production])
        }
    }

    @Test("Topics for VoIP pushes may stand in an extension of their own")
    func voipTopics() throws {
        // SEQUENCE { "a.b.voip", SEQUENCE { "voip" } }
        let der = "3012" + "0C08612E622E766F6970" + "30060C04766F6970"
        let extra = "1.2.840.113635.100.6.3.4=DER:\(der)"
        let info = try Self.selfSigned("/UID=a.b/CN=Apple Push Services: a.b", "-addext", extra)
        #expect(info.topics == ["a.b.voip"] && info.topic == "a.b" && !info.isVoIP)
    }

    @Test("A certificate of VoIP Services is for VoIP pushes alone, also if it lists other topics")
    func voipTopicsAlone() throws {
        // SEQUENCE { "a.b", SEQUENCE { "app" } }
        let der = "300C" + "0C03612E62" + "30050C03617070"
        let extra = "1.2.840.113635.100.6.3.4=DER:\(der)"
        let info = try Self.selfSigned("/UID=a.b.voip/CN=VoIP Services: a.b", "-addext", extra)
        #expect(info.topics == ["a.b.voip"] && info.bundleID == "a.b")
    }

    @Test("A certificate of another maker is read: UID before CN, universal topics, serial")
    func foreignCertificate() throws {
        // SEQUENCE { "a.b", SEQUENCE { "app" }, "a.b.voip", SEQUENCE { "voip" } }
        let der = "301E" + "0C03612E62" + "30050C03617070" + "0C08612E622E766F6970" + "30060C04766F6970"
        let info = try Self.selfSigned(
            "/UID=a.b/CN=Apple Push Services: other",
            "-set_serial",
            "0x0ABC",
            "-addext",
            "1.2.840.113635.100.6.3.6=DER:\(der)",
            "-addext",
            "1.2.840.113635.100.6.3.2=DER:0500"
        )
        #expect(info.topic == "a.b")
        #expect(info.topics == ["a.b", "a.b.voip"])
        #expect(info.environments == .production)
        #expect(info.serialHex == "ABC")
    }

    @Test("A damaged list of topics ends where the damage begins, and is never an error")
    func damagedTopics() {
        #expect(CertificateInfo.topics(inExtension: []).isEmpty)
        #expect(CertificateInfo.topics(inExtension: [0x30, 0x05, 0x0C, 0x03, 0x61]).isEmpty)
        #expect(CertificateInfo.topics(inExtension: [0x30, 0x80, 0x0C, 0x01, 0x61]).isEmpty)
        #expect(CertificateInfo.topics(inExtension: [0x30, 0x05, 0x0C, 0x01, 0x61, 0x0C, 0x09]) == ["a"])
        #expect(CertificateInfo.topics(inExtension: [0x30, 0x81, 0x03, 0x0C, 0x01, 0x61]) == ["a"])
        #expect(CertificateInfo.topics(inExtension: [0x04, 0x03, 0x0C, 0x01, 0x61]).isEmpty)
    }

    @Test("Names that would be misread in a file name or an extension are refused")
    func invalidNames() {
        for bundleID in ["", "a/b", "../a", ".a", "a b", "a,DNS:b", "ä", String(repeating: "a", count: 256)] {
            let error = #expect(throws: TLSConfigurationError.self) {
                try TestPKI.authority.issueClient(bundleID: bundleID)
            }
            #expect(error?.reason == .invalidName(bundleID))
        }
        for name in ["", "a,IP:1.2.3.4", "a b", "a\nb", "*.*.b"] {
            let error = #expect(throws: TLSConfigurationError.self) { try TestPKI.authority.issueServer(names: [name]) }
            #expect(error?.reason == .invalidName(name))
        }
    }

    private static func selfSigned(_ subject: String, _ options: String...) throws -> CertificateInfo {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/x.pem"
        let made = try ForeignProcess.run(
            "/usr/bin/env",
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
                + ["-subj", subject, "-out", path, "-keyout", "\(directory.path)/key.pem"] + options,
            input: ""
        )
        #expect(made.status == 0, "\(made.errors)")
        let certificate = try #require(try PEM.certificates(in: FileAccess.read(path)).first)
        return withExtendedLifetime(certificate) { CertificateInfo(x509: $0.pointer) }
    }
}
