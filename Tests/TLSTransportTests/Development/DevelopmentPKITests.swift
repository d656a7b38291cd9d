import Foundation
import TestSupport
import Testing

@testable import TLSTransport

struct DevelopmentPKITests {
    let directory = TemporaryDirectory()
    var path: String { "\(directory.path)/deep/pki" }

    func contents() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            files[name] = FileManager.default.contents(atPath: "\(path)/\(name)")
        }
        return files
    }

    @Test("All files are written, secrets for their owner only, and they work together")
    func firstTime() throws {
        let pki = try writeDevelopmentPKI(directory: path, topics: ["com.example.news", "com.example.chat"])
        let names: Set = [
            "ca.pem", "ca.key", "server.pem", "token.key", "com.example.news.pem", "com.example.news.p12",
            "com.example.chat.pem", "com.example.chat.p12",
        ]
        #expect(try Set(contents().keys) == names)
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == (name == "ca.pem" ? 0o644 : 0o600), "\(name)")
        }

        let server = try TLSIdentity(pemFile: pki.serverFile)
        _ = try TLSContext(server: server, clientTrust: .file(pki.authorityFile), requireClientCertificate: true)
        let pem = try TLSIdentity(pemFile: pki.pemFile(bundleID: "com.example.news"))
        let container = try TLSIdentity(
            pkcs12File: pki.pkcs12File(bundleID: "com.example.news"),
            passphrase: DevelopmentPKI.passphrase
        )
        #expect(pem.certificate == container.certificate)
        #expect(pem.certificate.topic == "com.example.news")
        #expect(pem.certificate.environments == .development)
        #expect(try pki.tokenKey().count == TokenCipher.keyBytes)
        let verified = try ForeignProcess.openssl(
            "verify",
            "-CAfile",
            pki.authorityFile,
            pki.serverFile,
            pki.pemFile(bundleID: "com.example.chat")
        )
        #expect(verified.status == 0, "\(verified.errors)")
    }

    @Test("A second run keeps every file and adds the new topics under the same authority")
    func secondTime() throws {
        try writeDevelopmentPKI(directory: path, topics: ["a.b"])
        let before = try contents()
        let pki = try writeDevelopmentPKI(directory: path, topics: ["a.b", "c.d"])
        let after = try contents()
        for (name, data) in before {
            #expect(after[name] == data, "\(name)")
        }
        #expect(after.count == before.count + 2)
        let verified = try ForeignProcess.openssl("verify", "-CAfile", pki.authorityFile, pki.pemFile(bundleID: "c.d"))
        #expect(verified.status == 0)
    }

    @Test("One form of a topic's certificate that is missing is made from the other", arguments: ["pem", "p12"])
    func missingForm(suffix: String) throws {
        let pki = try writeDevelopmentPKI(directory: path, topics: ["a.b"])
        let before = try TLSIdentity(pemFile: pki.pemFile(bundleID: "a.b")).certificate
        try FileManager.default.removeItem(atPath: "\(path)/a.b.\(suffix)")
        try writeDevelopmentPKI(directory: path, topics: ["a.b"])
        #expect(try TLSIdentity(pemFile: pki.pemFile(bundleID: "a.b")).certificate == before)
        #expect(
            try TLSIdentity(pkcs12File: pki.pkcs12File(bundleID: "a.b"), passphrase: "belfry").certificate == before
        )
    }

    @Test("A bad topic is named before anything is written", arguments: ["ca", "server", "device-0", "a/b", ""])
    func badTopic(topic: String) {
        let error = #expect(throws: TLSConfigurationError.self) {
            try writeDevelopmentPKI(directory: path, topics: ["a.b", topic])
        }
        #expect(error?.reason == .invalidName(topic))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A token key that is not 64 hex digits is refused with its file")
    func badTokenKey() throws {
        let pki = try writeDevelopmentPKI(directory: path, topics: [])
        for text in ["", "00", String(repeating: "g", count: 64), String(repeating: "0", count: 65)] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: pki.tokenKeyFile))
            let error = #expect(throws: TLSConfigurationError.self) { try pki.tokenKey() }
            #expect(error == TLSConfigurationError(.invalidTokenKey, file: pki.tokenKeyFile))
        }
    }

    @Test("A directory that cannot be made is named")
    func unwritable() throws {
        try Data().write(to: URL(fileURLWithPath: "\(directory.path)/deep"))
        let error = #expect(throws: TLSConfigurationError.self) {
            try writeDevelopmentPKI(directory: path, topics: [])
        }
        #expect(error?.reason == .unwritable("Not a directory"))
        #expect(error?.file == path)
    }
}
