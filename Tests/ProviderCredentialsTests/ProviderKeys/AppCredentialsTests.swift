import APNsProtocol
import BelfryTools
import Foundation
import Sender
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import ProviderCredentials

/// The credential of a topic, among certificates and provider keys.
@Suite struct AppCredentialsTests {
    private static let news = "com.example.news"
    private static let chat = "com.example.chat"
    private let certificates: CertificateFiles
    private let keys: ProviderKeyFiles

    init() throws {
        certificates = try CertificateFiles()
        keys = try ProviderKeyFiles()
    }

    /// Environments `sandbox` over HTTP/2 and `old` over the binary interface.
    private func configuration(_ change: (inout BelfryConfiguration) -> Void = { _ in }) -> BelfryConfiguration {
        var configuration = BelfryConfiguration()
        configuration.environments = [
            EnvironmentSettings(name: "old", gateways: []),
            EnvironmentSettings(name: "sandbox", gateways: [], transport: .http2),
        ]
        configuration.certificates.directory = certificates.directory
        configuration.keys.directory = keys.directory
        configuration.keys.team = ProviderKeyFiles.team
        configuration.worker.tokenState = false
        change(&configuration)
        return configuration
    }

    private func credentials(_ change: (inout BelfryConfiguration) -> Void = { _ in }) throws -> AppCredentials {
        let configuration = configuration(change)
        return AppCredentials(
            configuration,
            certificates: try CertificateStore(configuration),
            keys: try ProviderKeyStore(configuration)
        )
    }

    private func key(_ key: String, team: String = ProviderKeyFiles.team) throws -> AppCredential {
        .key(try #require(ProviderKeyID(team: team, key: key)))
    }

    @Test("Over HTTP/2 a bundle uses its certificate, and without one the key of the file's team")
    func certificateFirst() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try keys.add("ABC123DEFG")
        let credentials = try credentials()
        #expect(
            credentials.credential(bundleID: Self.news, environment: "sandbox") == .certificate(bundleID: Self.news)
        )
        #expect(try credentials.credential(bundleID: Self.chat, environment: "sandbox") == key("ABC123DEFG"))
    }

    /// The push types of an app that each credential sends; those under nil none may send.
    private func uses(_ bundleID: String, _ credentials: AppCredentials) -> [AppCredential?: [PushType]] {
        Dictionary(grouping: PushType.allCases) {
            credentials.credential(bundleID: bundleID, environment: "sandbox", for: $0)
        }
    }

    @Test("Each push type goes with the first credential that may send it: certificate, VoIP Services, key")
    func pushTypes() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try certificates.writeVoIP(Self.news, to: "voip.pem")
        let credentials = try credentials()
        let others = PushType.allCases.filter { ![.alert, .background, .mdm, .voip].contains($0) }
        let own: [AppCredential?: [PushType]] = [
            .certificate(bundleID: Self.news): [.alert, .background, .mdm],
            .voipCertificate(bundleID: Self.news): [.voip],
        ]
        #expect(uses(Self.news, credentials) == own.merging([nil: others]) { _, new in new })
        try keys.add("ABC123DEFG")
        _ = credentials.keys.reload()
        let key = try key("ABC123DEFG")
        #expect(uses(Self.news, credentials) == own.merging([key: others]) { _, new in new })
        #expect(uses(Self.chat, credentials) == [key: PushType.allCases])
    }

    @Test("A certificate that names the topic of VoIP pushes sends them; one of VoIP Services alone nothing else")
    func voip() throws {
        let universal = try certificates.authority.issueClient(bundleID: Self.news, topics: [Self.news + ".voip"])
        try universal.writePEM(to: certificates.path("news.pem"))
        for bundleID in [Self.news, Self.chat] { try certificates.writeVoIP(bundleID, to: "\(bundleID).voip.pem") }
        let credentials = try credentials()
        let sending = uses(Self.news, credentials)
        #expect(sending[.certificate(bundleID: Self.news)] == [.alert, .background, .voip, .mdm])
        #expect(sending[.voipCertificate(bundleID: Self.news)] == nil)
        let alone = AppCredential.voipCertificate(bundleID: Self.chat)
        #expect(uses(Self.chat, credentials)[alone] == [.voip])
        #expect(credentials.has(bundleID: Self.chat, environment: "sandbox"))
        #expect(!credentials.has(bundleID: Self.chat, environment: "old"), "the binary interface")
        #expect(credentials.context(of: alone, environment: "sandbox") != nil)
        #expect(credentials.edition(of: alone, environment: "sandbox") == 1)
    }

    @Test("A topic that names a team or a key uses that, even beside a certificate, and nothing else without it")
    func named() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try certificates.client(Self.chat).writePEM(to: certificates.path("chat.pem"))
        try keys.add("ABC123DEFG")
        try keys.add("XYZ", team: "OTHERTEAM1")
        let credentials = try credentials {
            $0.apps[Self.news, default: .init()].team = "OTHERTEAM1"
            $0.apps[Self.chat, default: .init()].key = "ABSENT"
        }
        let other = try key("XYZ", team: "OTHERTEAM1")
        #expect(credentials.credential(bundleID: Self.news, environment: "sandbox") == other)
        #expect(credentials.credential(bundleID: Self.chat, environment: "sandbox") == nil)
        #expect(!credentials.has(bundleID: Self.chat, environment: "sandbox"))
    }

    @Test("Over the binary interface there are certificates only")
    func binary() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try keys.add("ABC123DEFG")
        let credentials = try credentials { $0.apps[Self.news, default: .init()].key = "ABC123DEFG" }
        #expect(credentials.credential(bundleID: Self.news, environment: "old") == .certificate(bundleID: Self.news))
        #expect(credentials.credential(bundleID: Self.chat, environment: "old") == nil)
        #expect(!credentials.hasKeys(environment: "old") && credentials.hasKeys(environment: "sandbox"))
    }

    @Test("A key that comes while the worker runs is used from then on")
    func added() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        let credentials = try credentials()
        #expect(!credentials.has(bundleID: Self.chat, environment: "sandbox"))
        try keys.add("ABC123DEFG")
        _ = credentials.keys.reload()
        #expect(try credentials.credential(bundleID: Self.chat, environment: "sandbox") == key("ABC123DEFG"))
    }

    @Test("The generation rises with a certificate that comes and a key that does, and not with a mere reading")
    func generation() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try keys.add("ABC123DEFG")
        let credentials = try credentials()
        let first = credentials.generation
        _ = credentials.certificates.reload()
        _ = credentials.keys.reload()
        #expect(credentials.generation == first)
        try certificates.client(Self.chat).writePEM(to: certificates.path("chat.pem"))
        _ = credentials.certificates.reload()
        let second = credentials.generation
        #expect(second > first)
        try keys.add("XYZ")
        _ = credentials.keys.reload()
        #expect(credentials.generation > second)
    }

    @Test("Connections with a key show no certificate, and have a context where HTTP/2 is spoken")
    func contexts() throws {
        try certificates.client(Self.news).writePEM(to: certificates.path("news.pem"))
        try keys.add("ABC123DEFG")
        let credentials = try credentials()
        let anonymous = try #require(credentials.context(of: key("ABC123DEFG"), environment: "sandbox"))
        let certified = try #require(
            credentials.context(of: .certificate(bundleID: Self.news), environment: "sandbox")
        )
        #expect(anonymous !== certified)
        #expect(try credentials.context(of: key("ABC123DEFG"), environment: "old") == nil)
        #expect(credentials.context(of: .certificate(bundleID: Self.chat), environment: "sandbox") == nil)
        _ = credentials.certificates.reload()
        #expect(try credentials.context(of: key("ABC123DEFG"), environment: "sandbox") === anonymous)
    }

    @Test("Other roots make a new context for connections with a key; roots that break leave the one before")
    func roots() throws {
        try keys.add("ABC123DEFG")
        let root = String(decoding: try certificates.authority.rootPEM(), as: UTF8.self)
        try certificates.write(root, to: "ca.pem")
        let credentials = try credentials { $0.environments[1].trustFile = certificates.path("ca.pem") }
        let store = credentials.certificates
        let (before, generation) = (store.contextWithoutCertificate(environment: "sandbox"), store.generation)
        try certificates.write("rubbish", to: "ca.pem")
        #expect(store.reload().newFaults.map(\.file) == [certificates.path("ca.pem")])
        #expect(store.contextWithoutCertificate(environment: "sandbox") === before && before != nil)
        try certificates.write(root + root, to: "ca.pem")
        _ = store.reload()
        let after = store.contextWithoutCertificate(environment: "sandbox")
        #expect(after !== before && after != nil && store.generation > generation)
        #expect(try credentials.edition(of: key("ABC123DEFG"), environment: "sandbox") == 2)
    }

    @Test("A worker starts with a key alone, and without a directory of certificates if no file names it")
    func keyAlone() throws {
        try keys.add("ABC123DEFG")
        let absent = certificates.path("absent")
        let configuration = configuration {
            $0.certificates.directory = absent
            $0.certificates.isOptional = true
        }
        let lines = LogLines()
        _ = try WorkerRole(RoleContext(configuration, logger: lines.logger))
        #expect(lines.messages == ["no certificate for this environment"], "the one with the binary interface")
        var named = configuration
        named.certificates.isOptional = false
        let error = #expect(throws: CertificateDirectoryError.self) {
            _ = try WorkerRole(RoleContext(named, logger: lines.logger))
        }
        #expect(error?.file == absent)
    }

    @Test("A worker with neither certificate nor key does not start: exit code 78, both directories and remedies named")
    func nothing() throws {
        try keys.write("rubbish", to: "AuthKey_BAD.p8")
        let error = try #require(
            #expect(throws: ProviderKeyError.self) {
                _ = try WorkerRole(RoleContext(configuration(), logger: LogLines().logger))
            }
        )
        #expect(ExitStatus(for: error) == .configuration)
        #expect(error.file == keys.directory)
        for part in ["AuthKey_<key ID>.p8", "keys.team", "BAD.p8", certificates.directory, "certificates check"] {
            #expect("\(error)".contains(part), "\(part)")
        }
    }

    @Test("Keys are of no use where only the binary interface is spoken: a certificate is asked for")
    func uselessKeys() throws {
        try keys.add("ABC123DEFG")
        #expect(throws: CertificateDirectoryError.self) {
            let credentials = try credentials { $0.environments.removeLast() }
            try credentials.requireAny()
        }
    }

    @Test("A missing directory of certificates that is optional is empty, and read once it is there")
    func optionalDirectory() throws {
        let path = certificates.path("later")
        var settings = CertificateSettings()
        settings.directory = path
        #expect(throws: CertificateDirectoryError.self) { try CertificateDirectory(settings) }
        settings.isOptional = true
        let directory = try CertificateDirectory(settings)
        #expect(directory.entries.isEmpty && directory.faults.isEmpty)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try certificates.client(Self.news).writePEM(to: "\(path)/news.pem")
        #expect(try directory.again().entries.count == 1)
    }

    @Test("What was wrong with the files at the start is told")
    func faultsAtStart() throws {
        try keys.add("ABC123DEFG")
        try keys.write("rubbish", to: "AuthKey_BAD.p8")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644],
            ofItemAtPath: keys.path("AuthKey_ABC123DEFG.p8")
        )
        let lines = LogLines()
        _ = try WorkerRole(RoleContext(configuration { $0.environments.removeFirst() }, logger: lines.logger))
        #expect(lines.messages == ["provider key file not usable", "provider keys can be read by everybody"])
    }
}
