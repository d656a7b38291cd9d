import Foundation
import TLSTransport
import TestSupport
import Testing

@testable import BelfrySupport
@testable import ProviderCredentials

/// Credentials in the forms in which openssl, keychains, Kubernetes and cert-manager write them.
@Suite struct CredentialFilesServerTests {
    /// Commands of a shell that write a credential into the directory of certificates, out of `$pem`, the file with
    /// certificate and key of `com.example.news`.
    struct Writing: CustomTestStringConvertible, Sendable {
        let script: String
        /// The file by which the credential is told.
        let file: String
        /// The beginning of what the file is told to lack.
        var reason = ""

        var testDescription: String { "\(file): \(script)" }
    }

    private static let news = "com.example.news"
    private static let environment = EnvironmentSettings(name: "sandbox", gateways: [])
    private static let open = "openssl pkcs12 -export -in $pem -passout pass: -out"
    private static let closed = "openssl pkcs12 -export -in $pem -passout pass:secret -out"
    private static let newKey = "openssl pkcs8 -topk8 -in $pem -passout pass:secret"
    private static let oldKey = "openssl pkey -in $pem -traditional -aes256 -passout pass:secret"
    private static let pair = "openssl x509 -in $pem > tls.crt; openssl pkey -in $pem > tls.key"
    private static let noPassphrase = "its passphrase is missing: news.passphrase"
    private static let noKey = "the certificate of com.example.news lacks its private key: "
    private static let together = "put both into one .pem file, or export both together as .p12"

    static let usable = [
        Writing(script: "\(open) news.p12", file: "news.p12"),
        Writing(script: "\(open) news.pfx", file: "news.pfx"),
        Writing(script: "\(open) News.P12", file: "News.P12"),
        Writing(script: "\(open) News.p12; echo other > News.passphrase", file: "News.p12"),
        Writing(script: "\(open) news.p12; touch news.passphrase", file: "news.p12"),
        Writing(script: "\(closed) News.PFX; echo secret > News.passphrase", file: "News.PFX"),
        Writing(script: "cp $pem news.PEM", file: "news.PEM"),
        Writing(script: "cp $pem news.pem; mkdir news.passphrase", file: "news.pem"),
        Writing(script: "(cat $pem; \(newKey)) > news.pem", file: "news.pem"),
        Writing(script: "(openssl x509 -in $pem; \(newKey)) > n.PEM; echo secret > n.passphrase", file: "n.PEM"),
        Writing(script: "(openssl x509 -in $pem; \(oldKey)) > n.pem; echo secret > n.passphrase", file: "n.pem"),
        Writing(script: "(\(newKey); openssl x509 -in $pem) > n.pem; echo secret > n.passphrase", file: "n.pem"),
        Writing(script: pair, file: "tls.crt"),
        Writing(script: "mkdir shop; cd shop; \(pair); cp tls.crt ca.crt", file: "shop/tls.crt"),
        Writing(
            script: "mkdir shop; cd shop; openssl x509 -in $pem > tls.crt; \(newKey) > tls.key; "
                + "echo secret > tls.passphrase",
            file: "shop/tls.crt"
        ),
        // A secret mounted in a directory of its own, and one of several that are mounted as one.
        Writing(
            script: "mkdir -p shop/..2024_1; cd shop/..2024_1; \(pair); cd ..; ln -s ..2024_1 ..data; "
                + "ln -s ..data/tls.crt tls.crt; ln -s ..data/tls.key tls.key",
            file: "shop/tls.crt"
        ),
        Writing(
            script: "mkdir -p ..2024_1/shop; cd ..2024_1/shop; \(pair); cd ../..; ln -s ..2024_1 ..data; "
                + "ln -s ..data/shop shop",
            file: "shop/tls.crt"
        ),
    ]

    static let lacking = [
        Writing(script: "\(closed) news.p12", file: "news.p12", reason: noPassphrase),
        Writing(
            script: "(openssl x509 -in $pem; \(newKey)) > news.pem",
            file: "news.pem",
            reason: noPassphrase
        ),
        Writing(
            script: "(openssl x509 -in $pem; \(oldKey)) > news.pem",
            file: "news.pem",
            reason: noPassphrase
        ),
        Writing(
            script: "(openssl x509 -in $pem; \(newKey)) > n.pem; echo guess > n.passphrase",
            file: "n.pem",
            reason: "the passphrase is wrong"
        ),
        Writing(script: "openssl x509 -in $pem > news.pem", file: "news.pem", reason: noKey + together),
        Writing(script: "openssl x509 -in $pem > news.CRT", file: "news.CRT", reason: noKey + together),
        Writing(script: "openssl x509 -in $pem -outform DER > aps.cer", file: "aps.cer", reason: noKey + together),
        Writing(
            script: "mkdir shop; openssl x509 -in $pem > shop/tls.crt",
            file: "shop/tls.crt",
            reason: noKey + "put tls.key beside it"
        ),
        Writing(
            script: "mkdir shop; openssl pkey -in $pem > shop/tls.key",
            file: "shop/tls.key",
            reason: "the private key lacks its certificate: put tls.crt beside it"
        ),
        Writing(
            script: "openssl pkey -in $pem > news.key",
            file: "news.key",
            reason: "the private key lacks its certificate: \(together)"
        ),
        Writing(
            script: "cp $pem news.crt",
            file: "news.crt",
            reason: "holds certificate and key of com.example.news, but its name is none that is read: "
                + "rename it to news.pem"
        ),
        Writing(
            script: "openssl x509 -in $pem | head -n 4 > news.pem",
            file: "news.pem",
            reason: "a certificate in it is damaged"
        ),
        Writing(script: "echo rubbish > news.pem", file: "news.pem", reason: "holds no certificate in PEM form"),
        Writing(script: "echo rubbish > news.cer", file: "news.cer", reason: "holds no certificate in PEM form"),
        Writing(script: "echo rubbish > news.PFX", file: "news.PFX", reason: "is not a PKCS#12 container"),
    ]

    static let harmless = [
        Writing(script: "\(closed) chat.p12", file: "chat.p12"),
        Writing(script: "openssl x509 -in chat.pem -outform DER > aps.cer", file: "aps.cer"),
        Writing(script: "openssl pkey -in chat.pem > chat.key", file: "chat.key"),
        Writing(script: "cp $root ca.crt", file: "ca.crt"),
        Writing(script: "cp $root ca.pem", file: "ca.pem"),
        Writing(script: "mkdir old; cp $pem old/news.pem", file: "old"),
        Writing(script: "echo 0123 > token.key", file: "token.key"),
    ]

    /// Runs the commands of a writing, in the directory of certificates.
    private func write(_ writing: Writing, to files: CertificateFiles) throws {
        let origin = TemporaryDirectory()
        let (pem, root) = ("\(origin.path)/origin.pem", "\(origin.path)/root.pem")
        try files.client(Self.news).writePEM(to: pem)
        try Data(files.authority.rootPEM()).write(to: URL(fileURLWithPath: root))
        let script = "pem='\(pem)'; root='\(root)'; cd '\(files.directory)'; \(writing.script)"
        let shell = try ForeignProcess.run("/bin/sh", ["-ec", script], input: "")
        try #require(shell.status == 0, "\(shell.errors)")
    }

    private func check(_ directory: CertificateDirectory) -> CertificateCheck {
        CertificateCheck(directory, now: Int64(Date().timeIntervalSince1970))
    }

    @Test("A credential is read once, in each form that people have, and nothing is complained of", arguments: usable)
    func isRead(_ writing: Writing) throws {
        let files = try CertificateFiles()
        try write(writing, to: files)
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.entries.map(\.file) == [files.path(writing.file)], "\(directory.faults)")
        #expect(directory.bundleIDs(in: Self.environment) == [Self.news])
        #expect(check(directory).complaints.isEmpty)
    }

    @Test("A container that is closed with no password at all is read as one with an empty password is")
    func noPassword() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePKCS12(to: files.path("news.p12"), passphrase: nil)
        #expect(try CertificateDirectory(path: files.directory).bundleIDs(in: Self.environment) == [Self.news])
    }

    @Test("A file that lacks something is complained of, with its name and the cure", arguments: lacking)
    func isComplainedOf(_ writing: Writing) throws {
        let files = try CertificateFiles()
        try files.client("com.example.chat").writePEM(to: files.path("chat.pem"))
        try write(writing, to: files)
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.entries.map(\.file) == [files.path("chat.pem")])
        let complaints = check(directory).complaints
        #expect(complaints.count == 1, "\(complaints)")
        #expect(complaints.first?.hasPrefix("\(files.path(writing.file)): \(writing.reason)") == true, "\(complaints)")
    }

    @Test("A file that another one stands in for, or that is no push certificate, is passed over", arguments: harmless)
    func isPassedOver(_ writing: Writing) throws {
        let files = try CertificateFiles()
        try files.client("com.example.chat").writePEM(to: files.path("chat.pem"))
        try write(writing, to: files)
        let check = check(try CertificateDirectory(path: files.directory))
        #expect(check.complaints.isEmpty)
        let finding = check.findings.first { $0.file == files.path(writing.file) }
        guard case .some(.passedOver) = finding?.verdict else {
            Issue.record("\(check.findings)")
            return
        }
    }

    @Test("A certificate of VoIP Services is one of its app, and none of an app of its own")
    func voipServices() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        try files.writeVoIP(Self.news, to: "voip.pem")
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.faults.isEmpty && directory.bundleIDs == [Self.news])
        #expect(directory.bundleIDs(in: Self.environment, isVoIP: true).isEmpty, "the binary interface")

        let check = check(directory)
        let (file, finding) = (files.path("voip.pem"), try #require(check.findings.last))
        #expect(check.complaints.isEmpty)
        #expect(finding.text.hasPrefix("\(file): VoIP pushes of \(Self.news) (development, production), valid, "))
        #expect(finding.json.hasPrefix(#"{"topic":"\#(Self.news)","push_type":"voip","environments":"#))

        let environment = EnvironmentSettings(name: "sandbox", gateways: [], transport: .http2)
        let store = try CertificateStore(path: files.directory, environments: [environment])
        #expect(store.contexts(environment: "sandbox").keys.sorted() == [Self.news])
        #expect(store.certificates.map(\.bundleID) == [Self.news])
        #expect(store.certificates.first?.notAfter == finding.certificate?.notAfter, "it ends first")
    }

    @Test("The certificate of an app whose own ID ends in .voip is no certificate of VoIP Services")
    func ownSuffix() throws {
        let files = try CertificateFiles()
        try files.client("com.example.voip").writePEM(to: files.path("own.pem"))
        let directory = try CertificateDirectory(path: files.directory)
        #expect(directory.bundleIDs(in: Self.environment) == ["com.example.voip"])
    }

    @Test("A mounted pair that is exchanged makes another look, and is taken at the next reading")
    func exchanged() throws {
        let files = try CertificateFiles()
        let mounted = "ln -sfn ..$version shop/..data; ln -sf ..data/tls.crt ..data/tls.key shop/"
        func mount(_ version: String) throws {
            let script = "version=\(version); mkdir -p shop/..$version; (cd shop/..$version; \(Self.pair)); \(mounted)"
            try write(Writing(script: script, file: "shop/tls.crt"), to: files)
        }
        try mount("1")
        let store = try CertificateStore(path: files.directory, environments: [Self.environment])
        let look = FileLook(directory: files.directory)
        #expect(store.reload().isEmpty)
        try mount("2")
        #expect(FileLook(directory: files.directory) != look)
        let name = CertificateStore.Name(environment: "sandbox", bundleID: Self.news)
        #expect(store.reload() == .init(replaced: [name]))
        #expect(store.reload().isEmpty)
    }

    @Test("The key of a pair that all users can read is told, an encrypted one only with its passphrase")
    func exposed() throws {
        let files = try CertificateFiles()
        let writing = Writing(
            script: "\(Self.pair); (openssl x509 -in $pem; \(Self.newKey)) > n.pem; echo secret > n.passphrase; "
                + "chmod 644 tls.crt tls.key n.pem; chmod 600 n.passphrase",
            file: "tls.crt"
        )
        try write(writing, to: files)
        #expect(try CertificateDirectory(path: files.directory).exposed == [files.path("tls.key")])
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: files.path("n.passphrase"))
        let exposed = try CertificateDirectory(path: files.directory).exposed
        #expect(exposed == [files.path("n.pem"), files.path("tls.key")])
    }
}
