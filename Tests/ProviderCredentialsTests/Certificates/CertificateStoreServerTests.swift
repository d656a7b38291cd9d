import BelfryTools
import Foundation
import Logging
import Sender
import Synchronization
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import ProviderCredentials

@Suite struct CertificateStoreServerTests {
    private typealias Name = CertificateStore.Name

    private static let news = "com.example.news"
    private static let chat = "com.example.chat"
    private static let sandbox = EnvironmentSettings(name: "sandbox", gateways: [])
    private static let production = EnvironmentSettings(name: "production", gateways: [])

    private func store(_ files: CertificateFiles) throws -> CertificateStore {
        try CertificateStore(path: files.directory, environments: [Self.sandbox, Self.production])
    }

    private func context(_ store: CertificateStore, _ bundleID: String = news) -> TLSContext? {
        store.context(bundleID: bundleID, environment: "sandbox")
    }

    @Test("A bundle has the context of its environment's certificate, and of no other")
    func environments() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, .development).writePEM(to: files.path("d.pem"))
        try files.client(Self.news, .production).writePEM(to: files.path("p.pem"))
        try files.client(Self.chat, .production).writePEM(to: files.path("c.pem"))
        let store = try store(files)
        let development = try #require(store.context(bundleID: Self.news, environment: "sandbox"))
        let production = try #require(store.context(bundleID: Self.news, environment: "production"))
        #expect(development !== production)
        #expect(!store.has(bundleID: Self.chat, environment: "sandbox"))
        #expect(store.has(bundleID: Self.chat, environment: "production"))
        #expect(!store.has(bundleID: Self.news, environment: "staging"))
        #expect(
            store.certificates.map { "\($0.environment)/\($0.bundleID)" }
                == ["production/\(Self.chat)", "production/\(Self.news)", "sandbox/\(Self.news)"]
        )
        #expect(store.contexts(environment: "production").keys.sorted() == [Self.chat, Self.news])
    }

    @Test("Reading again what did not change changes nothing")
    func unchanged() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        try files.client(Self.chat).writePKCS12(to: files.path("chat.p12"), passphrase: "secret")
        try files.write("secret", to: "chat.passphrase")
        let store = try store(files)
        let before = (context(store), context(store, Self.chat), store.generation)
        let change = store.reload()
        #expect(change.isEmpty && change.faults.isEmpty)
        #expect(context(store) === before.0 && before.0 != nil)
        #expect(context(store, Self.chat) === before.1 && before.1 != nil)
        #expect(store.generation == before.2)
    }

    @Test("A certificate that is exchanged makes a new context for its bundle alone")
    func replaced() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        try files.client(Self.chat).writePEM(to: files.path("chat.pem"))
        let store = try store(files)
        let before = (context(store), context(store, Self.chat), store.generation)
        let now = Int64(Date().timeIntervalSince1970)
        try files.client(Self.news, validity: (now - 10)...(now + 777)).writePEM(to: files.path("news.pem"))
        #expect(store.reload() == .init(replaced: [Name(environment: "sandbox", bundleID: Self.news)]))
        #expect(context(store) !== before.0 && context(store) != nil)
        #expect(context(store, Self.chat) === before.1)
        #expect(store.generation > before.2)
        #expect(store.edition(bundleID: Self.news, environment: "sandbox") == 2)
        #expect(store.edition(bundleID: Self.chat, environment: "sandbox") == 1)
        #expect(store.edition(bundleID: "com.example.unknown", environment: "sandbox") == 0)
        #expect(store.certificates.contains { $0.bundleID == Self.news && $0.notAfter == now + 777 })
    }

    @Test("A certificate that lies ready is taken once it is valid, though its file has not changed")
    func readyBeforehand() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, validity: 1000...2000).writePEM(to: files.path("now.pem"))
        try files.client(Self.news, validity: 1900...9000).writePEM(to: files.path("next.pem"))
        let clock = Mutex<Int64>(1500)
        let store = try CertificateStore(
            path: files.directory,
            environments: [Self.sandbox],
            now: { clock.withLock { $0 } }
        )
        #expect(store.certificates.map(\.notAfter) == [2000])
        clock.withLock { $0 = 1900 }
        #expect(store.reload() == .init(replaced: [Name(environment: "sandbox", bundleID: Self.news)]))
        #expect(store.certificates.map(\.notAfter) == [9000])
    }

    @Test("A certificate that comes later is there after the next reading, also in an environment that had none")
    func added() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        let store = try store(files)
        let generation = store.generation
        try files.client(Self.chat, [.development, .production]).writePEM(to: files.path("chat.pem"))
        #expect(!store.has(bundleID: Self.chat, environment: "sandbox"))
        let change = store.reload()
        #expect(change.added.map(\.description) == ["production/\(Self.chat)", "sandbox/\(Self.chat)"])
        #expect(change.replaced.isEmpty && change.vanished.isEmpty)
        #expect(store.has(bundleID: Self.chat, environment: "sandbox"))
        #expect(store.has(bundleID: Self.chat, environment: "production"))
        #expect(store.generation > generation)
    }

    @Test("A bundle whose file vanishes keeps its context; the vanishing is told once, and once more after a return")
    func vanished() throws {
        let files = try CertificateFiles()
        let identity = try files.client(Self.news)
        try identity.writePEM(to: files.path("news.pem"))
        let store = try store(files)
        let before = (context(store), store.generation)
        let gone = CertificateStore.Change(vanished: [Name(environment: "sandbox", bundleID: Self.news)])
        for expected in [gone, .init()] {
            try? FileManager.default.removeItem(atPath: files.path("news.pem"))
            #expect(store.reload() == expected)
            #expect(context(store) === before.0 && before.0 != nil)
        }
        try identity.writePEM(to: files.path("other-name.pem"))
        #expect(store.reload().isEmpty)
        #expect(context(store) === before.0 && store.generation == before.1)
        try FileManager.default.removeItem(atPath: files.path("other-name.pem"))
        #expect(store.reload() == gone)
    }

    @Test("A file that breaks is a new fault once, and its bundle keeps its context; the others change as ever")
    func broken() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        let store = try store(files)
        let before = context(store)
        try files.write("-----BEGIN PRIVATE KEY-----", to: "news.pem")
        try files.client(Self.chat).writePEM(to: files.path("chat.pem"))
        var change = store.reload()
        #expect(change.newFaults.map(\.file) == [files.path("news.pem")] && change.faults == change.newFaults)
        #expect(change.added.map(\.bundleID) == [Self.chat] && change.vanished.map(\.bundleID) == [Self.news])
        #expect(context(store) === before && before != nil)
        change = store.reload()
        #expect(change.isEmpty && change.faults == store.faults && change.faults.count == 1)
    }

    @Test("A directory that cannot be read is a fault and nothing vanishes")
    func noDirectory() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        let store = try store(files)
        try FileManager.default.moveItem(atPath: files.directory, toPath: files.directory + ".away")
        defer { try? FileManager.default.removeItem(atPath: files.directory + ".away") }
        let change = store.reload()
        #expect(change.newFaults.map(\.file) == [files.directory])
        #expect(change.vanished.isEmpty && context(store) != nil)
        try FileManager.default.moveItem(atPath: files.directory + ".away", toPath: files.directory)
        #expect(store.reload().isEmpty && store.faults.isEmpty)
    }

    @Test("Other roots make new contexts; roots that cannot be read are a fault and leave those before in force")
    func roots() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        let root = String(decoding: try files.authority.rootPEM(), as: UTF8.self)
        try files.write(root, to: "ca.pem")
        var environment = Self.sandbox
        environment.trustFile = files.path("ca.pem")
        let store = try CertificateStore(path: files.directory, environments: [environment])
        let before = context(store)
        try FileManager.default.removeItem(atPath: files.path("ca.pem"))
        #expect(store.reload().newFaults.map(\.file) == [files.path("ca.pem")])
        #expect(context(store) === before && before != nil)
        try files.write(root + root, to: "ca.pem")
        #expect(store.reload() == .init(replaced: [Name(environment: "sandbox", bundleID: Self.news)]))
        #expect(context(store) !== before)
        let error = #expect(throws: CertificateDirectoryError.self) {
            environment.trustFile = files.path("nowhere.pem")
            _ = try CertificateStore(path: files.directory, environments: [environment])
        }
        #expect(error?.file == files.path("nowhere.pem"))
    }

    @Test("A directory without a certificate for any environment is refused: exit code 78, directory and remedy named")
    func empty() throws {
        let files = try CertificateFiles()
        try files.client(Self.news, .production).writePKCS12(to: files.path("news.p12"), passphrase: "secret")
        try files.client(Self.chat, .production).writePEM(to: files.path("chat.pem"))
        let store = try CertificateStore(path: files.directory, environments: [Self.sandbox])
        let error = try #require(
            #expect(throws: CertificateDirectoryError.self) { try store.requireCertificate() }
        )
        #expect(ExitStatus(for: error) == .configuration)
        #expect("\(error)".hasPrefix("\(files.directory): "))
        for part in ["(sandbox)", ".pem", "belfry certificates check", "1 of its files", files.path("news.p12")] {
            #expect("\(error)".contains(part))
        }
        var configuration = BelfryConfiguration()
        configuration.environments = [Self.sandbox]
        configuration.certificates.directory = files.directory
        configuration.worker.tokenState = false
        let refusal = #expect(throws: CertificateDirectoryError.self) {
            _ = try WorkerRole(RoleContext(configuration, logger: LogLines().logger))
        }
        #expect(refusal == error)
        configuration.environments = [Self.sandbox, Self.production]
        _ = try WorkerRole(RoleContext(configuration, logger: LogLines().logger))
    }

    @Test("The directory is read again while the role runs, and what changed is told")
    func reading() async throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        let store = try store(files)
        let lines = LogLines()
        try files.write("rubbish", to: "bad.p12")
        try files.write("secret", to: "bad.passphrase")
        try FileManager.default.removeItem(atPath: files.path("news.pem"))
        await store.readingAgain(every: .milliseconds(1), logger: lines.logger) {
            await lines.next("certificates read again")
        }
        #expect(lines.messages == ["certificate file not usable", "certificates read again"])
    }

    @Test("A key that all users can read is told, at the start and once it is so; a container only with its passphrase")
    func exposed() throws {
        let files = try CertificateFiles()
        func setMode(_ name: String, _ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files.path(name))
        }
        let identity = try files.client(Self.news)
        for name in ["open.pem", "shut.pem"] { try identity.writePEM(to: files.path(name)) }
        try identity.writePKCS12(to: files.path("box.p12"), passphrase: "secret")
        try files.write("secret", to: "box.passphrase")
        try setMode("box.passphrase", 0o600)
        try setMode("box.p12", 0o644)
        try setMode("open.pem", 0o644)
        let store = try store(files)
        #expect(store.exposed == [files.path("open.pem")])
        #expect(store.reload().isEmpty, "told once")
        try setMode("box.passphrase", 0o604)
        try setMode("shut.pem", 0o604)
        let change = store.reload()
        #expect(change.newExposed == [files.path("box.p12"), files.path("shut.pem")])
        let lines = LogLines()
        lines.logger.report(change)
        #expect(lines.messages == ["keys of certificates can be read by everybody"])
    }

    @Test("A container that comes without its passphrase is told once, as one that was there is at the start")
    func locked() throws {
        let files = try CertificateFiles()
        let identity = try files.client(Self.news)
        try identity.writePEM(to: files.path("news.pem"))
        let store = try store(files)
        #expect(store.unused.isEmpty)
        try identity.writePKCS12(to: files.path("news.p12"), passphrase: "secret")
        let change = store.reload()
        #expect(change.newUnused.map(\.file) == [files.path("news.p12")] && change.faults.isEmpty)
        #expect(store.reload().isEmpty)
        #expect(store.unused == change.newUnused)
    }

    @Test("A revocation list is read again for the connections to come; one that breaks leaves the last in force")
    func revocations() throws {
        let files = try CertificateFiles()
        try files.client(Self.news).writePEM(to: files.path("news.pem"))
        try files.write(String(decoding: try files.authority.rootPEM(), as: UTF8.self), to: "ca.pem")
        func write(_ serials: [String]) throws {
            let list = try files.authority.issueRevocationList(
                of: serials.map { .init(serialHex: $0, revokedAt: 1_400_000_000) },
                number: UInt64(serials.count)
            )
            try files.write(String(decoding: try list.pem(), as: UTF8.self), to: "crl.list")
        }
        try write([])
        var environment = Self.sandbox
        environment.trustFile = files.path("ca.pem")
        environment.revocationFile = files.path("crl.list")
        let store = try CertificateStore(path: files.directory, environments: [environment])
        let first = try #require(context(store))
        #expect(store.reload().isEmpty)
        #expect(context(store) === first)
        try write(["1A"])
        #expect(store.reload().replaced == [Name(environment: "sandbox", bundleID: Self.news)])
        let second = try #require(context(store))
        #expect(second !== first)
        try files.write("rubbish", to: "crl.list")
        #expect(store.reload().newFaults.map(\.file) == [files.path("crl.list")])
        #expect(context(store) === second)
        let error = #expect(throws: CertificateDirectoryError.self) {
            _ = try CertificateStore(path: files.directory, environments: [environment])
        }
        #expect(error?.file == files.path("crl.list"))
        environment.trustFile = nil
        #expect(throws: CertificateDirectoryError.self) {
            _ = try CertificateStore(path: files.directory, environments: [environment])
        }
    }
}
