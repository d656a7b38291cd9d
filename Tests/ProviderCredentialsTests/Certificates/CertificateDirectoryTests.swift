import Foundation
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import ProviderCredentials

@Suite struct CertificateDirectoryTests {
    private static let news = "com.example.news"
    private static let chat = "com.example.chat"

    @Test("The bundle comes from the certificate's subject, whatever the file is called")
    func namedBySubject() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("zzz.pem"))
        try files.client(Self.chat).writePEM(to: files.path("\(Self.news).pem"))
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.bundleIDs(in: Self.sandbox) == [Self.chat, Self.news])
        #expect(entry(of: Self.news, in: Self.sandbox, directory)?.file == files.path("zzz.pem"))
        #expect(entry(of: "zzz", in: Self.sandbox, directory) == nil)
    }

    @Test("The production environment takes production certificates alone, every other one those for development")
    func environments() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, .development).writePEM(to: files.path("d.pem"))
        try files.client(Self.news, .production).writePEM(to: files.path("p.pem"))
        try files.client(Self.chat, [.development, .production]).writePEM(to: files.path("both.pem"))
        try files.client("com.example.live", .production).writePEM(to: files.path("live.pem"))
        let directory = try CertificateDirectory(path: files.directory)
        #expect(entry(of: Self.news, in: Self.sandbox, directory)?.file == files.path("d.pem"))
        #expect(entry(of: Self.news, in: Self.production, directory)?.file == files.path("p.pem"))
        #expect(directory.bundleIDs(in: Self.sandbox) == [Self.chat, Self.news])
        #expect(directory.bundleIDs(in: Self.production) == [Self.chat, "com.example.live", Self.news])
        var staging = Self.sandbox
        staging.name = "staging"
        #expect(directory.bundleIDs(in: staging) == [Self.chat, Self.news])
    }

    @Test("Of several certificates the one that is valid longest is taken", arguments: [true, false])
    func longest(isFirst: Bool) throws {
        let files = try CertificateFiles()
        let now = Self.now
        let old = isFirst ? "b.pem" : "a.pem"
        let new = isFirst ? "a.pem" : "b.pem"
        try files.client(Self.news, validity: (now - 1000)...(now + 1000)).writePEM(to: files.path(old))
        try files.client(Self.news, validity: (now - 10)...(now + 5000)).writePEM(to: files.path(new))
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.entries.count == 2)
        #expect(entry(of: Self.news, in: Self.sandbox, directory)?.file == files.path(new))
    }

    @Test("A certificate that is valid beats one that is valid later, or was, however long", arguments: [true, false])
    func validNow(isFirst: Bool) throws {
        let files = try CertificateFiles()
        let (valid, other) = isFirst ? ("a.pem", "b.pem") : ("b.pem", "a.pem")
        try files.client(Self.news, validity: 1000...2000).writePEM(to: files.path(valid))
        try files.client(Self.news, validity: 1900...9000).writePEM(to: files.path(other))
        let directory = try CertificateDirectory(path: files.directory)
        let chosen = [500, 1000, 1899, 1900, 2000, 2001, 9001].map { now in
            directory.entry(bundleID: Self.news, environment: Self.sandbox, now: now)?.file
        }
        #expect(chosen == [other, valid, valid, other, other, other, other].map(files.path))
        #expect(directory.bundleIDs(in: Self.sandbox) == [Self.news])
    }

    @Test(
        "A PKCS#12 file is opened with the passphrase that lies beside it",
        arguments: ["secret", "secret\n", "secret\r\n"]
    )
    func pkcs12(passphrase: String) throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePKCS12(to: files.path("push.p12"), passphrase: "secret")
        try files.write(passphrase, to: "push.passphrase")
        let directory = try CertificateDirectory(path: files.directory)
        #expect(entry(of: Self.news, in: Self.sandbox, directory)?.file == files.path("push.p12"))
    }

    @Test("Spaces belong to a passphrase")
    func passphraseWithSpaces() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePKCS12(to: files.path("push.p12"), passphrase: " two words ")
        try files.write(" two words \n", to: "push.passphrase")
        #expect(try CertificateDirectory(path: files.directory).entries.count == 1)
    }

    @Test("A PKCS#12 file without passphrase is passed over, alone and beside a PEM file, and what it lacks is told")
    func missingPassphrase() throws {
        let files = try CertificateFiles()
        let identity = try files.client(Self.news)
        try identity.writePKCS12(to: files.path("push.p12"), passphrase: "secret")
        let alone = try CertificateDirectory(path: files.directory)
        #expect(alone.entries.isEmpty && alone.faults.isEmpty)
        #expect(alone.unused.map(\.file) == [files.path("push.p12")])
        #expect(alone.unused.first?.reason == "its passphrase is missing: push.passphrase")
        try identity.writePEM(to: files.path("push.pem"))
        let beside = try CertificateDirectory(path: files.directory)
        #expect(beside.entries.map(\.file) == [files.path("push.pem")] && beside.faults.isEmpty)
        #expect(beside.unused.map(\.file) == [files.path("push.p12")])
        #expect(beside.unused.first?.reason == "its passphrase is missing: push.passphrase; push.pem is used")
    }

    @Test("A PEM file that holds no key, or is broken, does not stand for the PKCS#12 file of its name")
    func uselessPEMBeside() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePKCS12(to: files.path("push.p12"), passphrase: "secret")
        try files.write(String(decoding: try files.authority.rootPEM(), as: UTF8.self), to: "push.pem")
        var directory = try CertificateDirectory(path: files.directory)
        #expect(directory.passedOver.map(\.file) == [files.path("push.p12"), files.path("push.pem")])
        #expect(directory.unused.map(\.reason) == ["its passphrase is missing: push.passphrase"])
        try files.write("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", to: "push.pem")
        directory = try CertificateDirectory(path: files.directory)
        #expect(directory.faults.map(\.file) == [files.path("push.pem")])
        #expect(directory.unused.map(\.reason) == ["its passphrase is missing: push.passphrase"])
    }

    @Test("A wrong passphrase is a fault, with the name of the file, once")
    func wrongPassphrase() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePKCS12(to: files.path("push.p12"), passphrase: "secret")
        try files.write("guess", to: "push.passphrase")
        let error = try #require(try fault(files))
        #expect(error.file == files.path("push.p12"))
        #expect("\(error)" == "\(files.path("push.p12")): the passphrase is wrong")
    }

    @Test("A file that is no PKCS#12 container is a fault, with its name")
    func brokenPKCS12() throws {
        let files = try CertificateFiles()
        try files.write("rubbish", to: "push.p12")
        try files.write("secret", to: "push.passphrase")
        #expect("\(try #require(try fault(files)))" == "\(files.path("push.p12")): is not a PKCS#12 container")
    }

    @Test("A PEM file with a key that does not fit, or cut in its middle, is a fault, with its name")
    func brokenPEM() throws {
        let files = try CertificateFiles()
        let one = String(decoding: try files.client(Self.news).pem(), as: UTF8.self)
        let other = String(decoding: try files.client(Self.chat).pem(), as: UTF8.self)
        let key = "-----BEGIN PRIVATE KEY-----"
        let certificate = one[..<(try #require(one.range(of: key)).lowerBound)]
        let foreignKey = other[(try #require(other.range(of: key)).lowerBound)...]
        try files.write(String(certificate + foreignKey), to: "push.pem")
        var error = try #require(try fault(files))
        #expect("\(error)" == "\(files.path("push.pem")): the private key does not belong to the certificate")
        try files.write(String(one.prefix(40)) + "\n" + foreignKey, to: "push.pem")
        error = try #require(try fault(files))
        #expect(error.file == files.path("push.pem"))
    }

    @Test("What is no push certificate is passed over: a CA, other files")
    func passedOver() throws {
        let files = try CertificateFiles()
        try files.write(String(decoding: try files.authority.rootPEM(), as: UTF8.self), to: "ca.pem")
        try files.write("rubbish", to: "README")
        try files.write("rubbish", to: "stray.passphrase")
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.entries.isEmpty && directory.faults.isEmpty)
        #expect(directory.bundleIDs(in: Self.sandbox).isEmpty)
        #expect(
            directory.passedOver.map(\.reason) == [
                "neither a .pem nor a .p12 file", "holds no private key",
                "there is no stray.p12 or stray.pem to open with it",
            ]
        )
        #expect(directory.unused.isEmpty)
    }

    @Test("Text around the certificate may be in any encoding")
    func foreignText() throws {
        let files = try CertificateFiles()
        // Latin-1, as old keychain exports have it in their names.
        let bytes = Array("friendlyName: M".utf8) + [0xFC] + Array("nchen\n".utf8) + (try files.client(Self.news).pem())
        #expect(FileManager.default.createFile(atPath: files.path("push.pem"), contents: Data(bytes)))
        #expect(try CertificateDirectory(path: files.directory).entries.count == 1)
    }

    @Test("A directory that is not there is refused, with its name")
    func missingDirectory() throws {
        let files = try CertificateFiles()
        let error = #expect(throws: CertificateDirectoryError.self) {
            try CertificateDirectory(path: files.path("nowhere"))
        }
        #expect(error?.file == files.path("nowhere"))
        #expect("\(try #require(error))".hasPrefix(files.path("nowhere") + ": "))
    }

    @Test("A file that cannot be read is a fault, with its name")
    func unreadable() throws {
        let files = try CertificateFiles()
        // Permissions would not stop a test that runs as root; a directory in its place stops every user.
        try FileManager.default.createDirectory(atPath: files.path("push.pem"), withIntermediateDirectories: false)
        #expect(try fault(files)?.file == files.path("push.pem"))
        try FileManager.default.removeItem(atPath: files.path("push.pem"))
        try files.client(Self.news).writePKCS12(to: files.path("push.p12"), passphrase: "secret")
        try FileManager.default.createDirectory(
            atPath: files.path("push.passphrase"),
            withIntermediateDirectories: false
        )
        #expect(try fault(files)?.file == files.path("push.passphrase"))
    }

    @Test("There is a TLS context for each bundle of the environment; a broken trust file is what is named")
    func contexts() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, .development).writePEM(to: files.path("d.pem"))
        try files.client(Self.chat, .production).writePEM(to: files.path("p.pem"))
        try files.write(String(decoding: try files.authority.rootPEM(), as: UTF8.self), to: "ca.pem")
        var environment = Self.sandbox
        environment.trustFile = files.path("ca.pem")
        let store = try CertificateStore(path: files.directory, environments: [environment])
        #expect(store.contexts(environment: "sandbox").keys.sorted() == [Self.news])
        environment.trustFile = files.path("nowhere.pem")
        var error = #expect(throws: CertificateDirectoryError.self) {
            try CertificateStore(path: files.directory, environments: [environment])
        }
        #expect(error?.file == files.path("nowhere.pem"))
        try files.write("rubbish", to: "rubbish.pem")
        environment.trustFile = files.path("rubbish.pem")
        error = #expect(throws: CertificateDirectoryError.self) {
            try CertificateStore(path: files.directory, environments: [environment])
        }
        #expect("\(try #require(error))" == "\(files.path("rubbish.pem")): holds no certificate in PEM form")
    }

    /// The certificate that is chosen now.
    private func entry(
        of bundleID: String,
        in environment: EnvironmentSettings,
        _ directory: CertificateDirectory
    ) -> CertificateDirectory.Entry? {
        directory.entry(bundleID: bundleID, environment: environment, now: Self.now)
    }

    private static let now = Int64(Date().timeIntervalSince1970)
    private static let sandbox = EnvironmentSettings(name: "sandbox", gateways: [])
    private static let production = EnvironmentSettings(name: "production", gateways: [])

    /// The one fault of a directory, beside which a good certificate is loaded as ever.
    private func fault(_ files: CertificateFiles) throws -> CertificateDirectoryError? {
        try files.client(Self.chat).writePEM(to: files.path("good.pem"))
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.entries.map(\.file) == [files.path("good.pem")])
        #expect(directory.faults.count == 1)
        return directory.faults.first
    }
}
