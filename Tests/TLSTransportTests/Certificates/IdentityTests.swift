import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// Certificates and keys as operators bring them, and what they are told when something is wrong.
struct IdentityTests {
    let directory = TemporaryDirectory()

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(directory.path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test("PEM and PKCS#12 carry the same identity")
    func roundTrip() throws {
        let identity = TestPKI.client
        #expect(try TLSIdentity(pem: identity.pem()).certificate == identity.certificate)
        let container = try identity.pkcs12(passphrase: "geheim")
        #expect(try TLSIdentity(pkcs12: container, passphrase: "geheim").certificate == identity.certificate)
    }

    @Test("In PEM the key may stand before the certificate, other text between, and further certificates follow")
    func anyOrder() throws {
        let text = String(decoding: try TestPKI.client.pem(), as: UTF8.self)
        let key = try #require(text.range(of: "-----BEGIN PRIVATE KEY-----"))
        let swapped =
            "Bag Attributes\n" + text[key.lowerBound...] + "subject=x\n" + text[..<key.lowerBound]
            + String(decoding: try TestPKI.authority.rootPEM(), as: UTF8.self)
        let identity = try TLSIdentity(pem: Array(swapped.utf8))
        #expect(identity.certificate == TestPKI.client.certificate)
        #expect(identity.intermediates.count == 1)
    }

    @Test("Files that cannot be used are named together with what is wrong")
    func badFiles() throws {
        let client = try TestPKI.client.pem()
        let text = String(decoding: client, as: UTF8.self)
        let key = try #require(text.range(of: "-----BEGIN PRIVATE KEY-----"))
        let certificateOnly = Array(text[..<key.lowerBound].utf8)
        let otherKey = String(decoding: try TestPKI.strangeClient.pem(), as: UTF8.self)
        let otherKeyStart = try #require(otherKey.range(of: "-----BEGIN PRIVATE KEY-----"))
        let damaged = text.replacingOccurrences(
            of: "-----BEGIN CERTIFICATE-----\nMII",
            with: "-----BEGIN CERTIFICATE-----\n###"
        )

        for (name, bytes, reason) in [
            ("empty.pem", [], TLSConfigurationError.Reason.noCertificate),
            ("noise.pem", Array("hello\n".utf8), .noCertificate),
            ("key-only.pem", Array(text[key.lowerBound...].utf8), .noCertificate),
            ("certificate-only.pem", certificateOnly, .noPrivateKey),
            (
                "mixed.pem", certificateOnly + Array(otherKey[otherKeyStart.lowerBound...].utf8),
                .keyDoesNotMatchCertificate
            ),
        ] {
            let path = try file(name, bytes)
            let error = #expect(throws: TLSConfigurationError.self) { try TLSIdentity(pemFile: path) }
            #expect(error?.reason == reason, "\(name)")
            #expect(error?.file == path)
            #expect(error.map { "\($0)".hasPrefix(path) } == true)
        }
        let error = #expect(throws: TLSConfigurationError.self) { try TLSIdentity(pem: Array(damaged.utf8)) }
        guard case .some(.rejected) = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A missing file is named with the system's reason")
    func missingFile() {
        let path = "\(directory.path)/absent.pem"
        for body in [{ _ = try TLSIdentity(pemFile: path) }, { _ = try TLSTrust.file(path).loadRoots() }] {
            let error = #expect(throws: TLSConfigurationError.self, performing: body)
            #expect(error?.reason == .unreadable("No such file or directory"))
            #expect(error?.file == path)
        }
    }

    @Test("A trust file without a certificate is refused, not taken for an empty trust")
    func emptyTrust() throws {
        let path = try file("roots.pem", Array("# none\n".utf8))
        let error = #expect(throws: TLSConfigurationError.self) { try TLSContext(client: nil, trust: .file(path)) }
        #expect(error?.reason == .noCertificate)
        #expect(error?.file == path)
    }

    @Test(
        "An encrypted key of either form needs its passphrase, and no terminal is asked for it",
        arguments: [["pkcs8", "-topk8"], oldForm]
    )
    func encryptedKey(command: [String]) throws {
        let plain = try file("plain.pem", TestPKI.client.pem())
        let key = try ForeignProcess.run(
            "/usr/bin/env",
            ["openssl"] + command + ["-in", plain, "-passout", "pass:geheim"],
            input: ""
        ).output
        #expect(String(decoding: key, as: UTF8.self).contains("ENCRYPTED"))
        let text = String(decoding: try TestPKI.client.pem(), as: UTF8.self)
        let start = try #require(text.range(of: "-----BEGIN PRIVATE KEY-----"))
        let pem = Array(text[..<start.lowerBound].utf8) + key
        #expect(try TLSIdentity(pem: pem, passphrase: "geheim").certificate == TestPKI.client.certificate)
        let missing = #expect(throws: TLSConfigurationError.self) { try TLSIdentity(pem: pem) }
        #expect(missing?.reason == .passphraseMissing)
        // One wrong passphrase in some hundred leaves good padding behind.
        for number in 0..<600 where command == Self.oldForm || number < 5 {
            let wrong = #expect(throws: TLSConfigurationError.self) {
                try TLSIdentity(pem: pem, passphrase: "wrong-\(number)")
            }
            #expect(wrong?.reason == .wrongPassphrase, "\(String(describing: wrong))")
        }
    }

    /// Writes `Proc-Type: 4,ENCRYPTED`.
    private static let oldForm = ["pkey", "-traditional", "-aes256"]

    @Test("A container without a passphrase is read, be it closed with no password or with an empty one")
    func noPassphrase() throws {
        let plain = try file("plain.pem", TestPKI.client.pem())
        let empty = "\(directory.path)/empty.p12"
        let export = try ForeignProcess.openssl("pkcs12", "-export", "-in", plain, "-out", empty, "-passout", "pass:")
        #expect(export.status == 0, "\(export.errors)")
        let none = try file("none.p12", TestPKI.client.pkcs12(passphrase: nil))
        for path in [empty, none] {
            for passphrase in [nil, ""] {
                let identity = try TLSIdentity(pkcs12File: path, passphrase: passphrase)
                #expect(identity.certificate == TestPKI.client.certificate, "\(path)")
            }
            let wrong = #expect(throws: TLSConfigurationError.self) {
                try TLSIdentity(pkcs12File: path, passphrase: "x")
            }
            #expect(wrong?.reason == .wrongPassphrase)
        }
        let listing = try ForeignProcess.openssl("pkcs12", "-in", none, "-passin", "pass:", "-nodes")
        #expect(listing.status == 0, "OpenSSL's tool reads the form without any password too: \(listing.errors)")
        let closed = try TestPKI.client.pkcs12(passphrase: "belfry")
        let error = #expect(throws: TLSConfigurationError.self) { try TLSIdentity(pkcs12: closed, passphrase: nil) }
        #expect(error?.reason == .passphraseMissing)
    }

    @Test("The first certificate of a file is found in PEM and in DER, without a key, and in no other file")
    func certificateAlone() throws {
        let plain = try file("plain.pem", TestPKI.client.pem())
        let der = try ForeignProcess.run(
            "/usr/bin/env",
            ["openssl", "x509", "-in", plain, "-outform", "DER", "-out", "\(directory.path)/client.cer"],
            input: ""
        )
        #expect(der.status == 0, "\(der.errors)")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/client.cer"))
        #expect(try CertificateInfo.first(in: [UInt8](bytes)) == TestPKI.client.certificate)
        #expect(try CertificateInfo.first(in: TestPKI.client.pem()) == TestPKI.client.certificate)
        for noise in [[], Array("hello\n".utf8), [0x30, 0x82, 0x01]] as [[UInt8]] {
            #expect(try CertificateInfo.first(in: noise) == nil)
        }
    }

    @Test("A wrong PKCS#12 passphrase is told apart from a file that is none")
    func pkcs12Errors() throws {
        let path = try file("client.p12", TestPKI.client.pkcs12(passphrase: "belfry"))
        for passphrase in ["", "Belfry", "belfry "] {
            let error = #expect(throws: TLSConfigurationError.self) {
                try TLSIdentity(pkcs12File: path, passphrase: passphrase)
            }
            #expect(
                error == TLSConfigurationError(.wrongPassphrase, file: path, openSSLErrors: error?.openSSLErrors ?? [])
            )
        }
        let noise = try file("noise.p12", Array("hello".utf8))
        let error = #expect(throws: TLSConfigurationError.self) {
            try TLSIdentity(pkcs12File: noise, passphrase: "belfry")
        }
        #expect(error?.reason == .notPKCS12)
    }

    @Test("Old keychain exports (RC2, triple DES) are read")
    func legacyContainer() throws {
        let pem = try file("client.pem", TestPKI.client.pem())
        let path = "\(directory.path)/legacy.p12"
        let export = try ForeignProcess.openssl(
            "pkcs12",
            "-export",
            "-legacy",
            "-in",
            pem,
            "-out",
            path,
            "-passout",
            "pass:geheim"
        )
        #expect(export.status == 0)
        let identity = try TLSIdentity(pkcs12File: path, passphrase: "geheim")
        #expect(identity.certificate == TestPKI.client.certificate)
        let error = #expect(throws: TLSConfigurationError.self) { try TLSIdentity(pkcs12File: path, passphrase: "x") }
        #expect(error?.reason == .wrongPassphrase)
    }

    @Test("Our PKCS#12 opens in OpenSSL's tool and in Python's cryptography")
    func foreignReaders() throws {
        let path = try file("client.p12", TestPKI.client.pkcs12(passphrase: "belfry"))
        let listing = try ForeignProcess.openssl("pkcs12", "-in", path, "-passin", "pass:belfry", "-nodes")
        #expect(String(decoding: listing.output, as: UTF8.self).contains("PRIVATE KEY"))

        let script = """
            import sys
            from cryptography.hazmat.primitives.serialization import pkcs12
            key, certificate, _ = pkcs12.load_key_and_certificates(open(sys.argv[1], "rb").read(), b"belfry")
            print("%X" % certificate.serial_number, key.key_size)
            """
        let python = try ForeignProcess.python("-c", script, path)
        #expect(String(decoding: python.output, as: UTF8.self) == "\(TestPKI.client.certificate.serialHex) 256\n")
    }

    @Test("Identities are written for their owner's eyes only, whatever stood there")
    func fileMode() throws {
        let path = try file("client.pem", Array("old".utf8))
        chmod(path, 0o644)
        try TestPKI.client.writePEM(to: path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try TLSIdentity(pemFile: path).certificate == TestPKI.client.certificate)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["client.pem"])
    }
}
