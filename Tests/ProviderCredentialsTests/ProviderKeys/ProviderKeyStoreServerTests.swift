import APNsProtocol
import Foundation
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import ProviderCredentials

/// A directory of provider keys of one test, removed with it.
final class ProviderKeyFiles {
    /// The team of the keys directly in the directory.
    static let team = "DEF123GHIJ"
    private let files: CertificateFiles

    init() throws { files = try CertificateFiles() }

    var directory: String { files.directory }

    func path(_ name: String) -> String { files.path(name) }

    func write(_ text: String, to name: String) throws { try files.write(text, to: name) }

    /// Writes a key to the file of its ID; without one a new key.
    @discardableResult
    func add(_ id: String, team: String? = nil, _ key: ProviderKey? = nil) throws -> ProviderKey {
        let key = try key ?? ProviderKey.generate()
        let folder = team.map { path($0) } ?? directory
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try key.writePEM(to: "\(folder)/AuthKey_\(id).p8")
        return key
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

    func store(_ change: (inout BelfryConfiguration) -> Void = { _ in }) throws -> ProviderKeyStore {
        var configuration = BelfryConfiguration()
        configuration.keys.directory = directory
        configuration.keys.team = Self.team
        change(&configuration)
        return try ProviderKeyStore(configuration)
    }
}

@Suite struct ProviderKeyStoreServerTests {
    private let files: ProviderKeyFiles

    init() throws { files = try ProviderKeyFiles() }

    private func id(_ key: String, _ team: String = ProviderKeyFiles.team) throws -> ProviderKeyID {
        try #require(ProviderKeyID(team: team, key: key))
    }

    @Test("Keys in the directory are of the configured team, those in a subdirectory of the team it is named after")
    func teams() throws {
        let own = try files.add("ABC123DEFG")
        let other = try files.add("ABC123DEFG", team: "OTHERTEAM1")
        try files.add("XYZ", team: "OTHERTEAM1")
        let store = try files.store()
        #expect(store.ids.text == "DEF123GHIJ/ABC123DEFG,OTHERTEAM1/ABC123DEFG,OTHERTEAM1/XYZ")
        #expect(store.key(try id("ABC123DEFG"))?.key == own)
        #expect(store.key(try id("ABC123DEFG", "OTHERTEAM1"))?.key == other)
        #expect(store.key(try id("XYZ")) == nil)
        #expect(store.faults.isEmpty)
    }

    @Test("A key file that cannot be used is a fault that names it, and concerns no other key")
    func faults() throws {
        try files.add("GOOD")
        try files.write("rubbish", to: "AuthKey_RUBBISH.p8")
        try files.write("rubbish", to: "news.p8")
        try files.write("rubbish", to: "AuthKey_A-B.p8")
        try files.add("GOOD", team: ProviderKeyFiles.team)
        try files.write("readme", to: "README")
        try files.write("rubbish", to: ".AuthKey_HIDDEN.p8")
        try files.add("LOST", team: "lost+found")
        let store = try files.store()
        #expect(store.ids == [try id("GOOD")])
        let reasons = Dictionary(uniqueKeysWithValues: store.faults.map { ($0.file, $0.reason) })
        #expect(reasons.count == 4, "\(reasons)")
        #expect(reasons[files.path("AuthKey_RUBBISH.p8")] == "holds no private key in PEM form")
        for name in ["news.p8", "AuthKey_A-B.p8"] {
            #expect(reasons[files.path(name)]?.contains("AuthKey_<key ID>.p8") == true)
        }
        let twin = files.path("DEF123GHIJ/AuthKey_GOOD.p8")
        #expect(reasons[twin] == "the same team and key ID have \(files.path("AuthKey_GOOD.p8"))")
    }

    @Test("A key directly in the directory is a fault while nothing names its team")
    func noTeam() throws {
        try files.add("ABC123DEFG")
        try files.add("XYZ", team: "OTHERTEAM1")
        let store = try files.store { $0.keys.team = nil }
        #expect(store.ids == [try id("XYZ", "OTHERTEAM1")])
        #expect(store.faults.map(\.file) == [files.path("AuthKey_ABC123DEFG.p8")])
        #expect(store.faults.first?.reason.contains("keys.team") == true)
    }

    @Test("Without a directory there are no keys; one that cannot be read is refused with its name")
    func noDirectory() throws {
        let none = try files.store { $0.keys.directory = nil }
        #expect(none.ids.isEmpty && none.keyID(bundleID: "a.b") == nil && none.reload().isEmpty)
        let error = #expect(throws: ProviderKeyError.self) {
            try files.store { $0.keys.directory = files.path("nowhere") }
        }
        #expect(error?.file == files.path("nowhere"))
    }

    @Test("A key that all users can read is told, by the file that a link leads to")
    func exposed() throws {
        try files.add("OPEN")
        try files.add("SHUT")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: files.path("AuthKey_OPEN.p8"))
        try FileManager.default.createSymbolicLink(
            atPath: files.path("AuthKey_LINK.p8"),
            withDestinationPath: files.path("AuthKey_SHUT.p8")
        )
        let store = try files.store()
        #expect(store.ids.map(\.key) == ["LINK", "OPEN", "SHUT"])
        #expect(store.exposed == [files.path("AuthKey_OPEN.p8")])
        #expect(store.reload().isEmpty, "told once")
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: files.path("AuthKey_SHUT.p8"))
        #expect(store.reload().newExposed == [files.path("AuthKey_LINK.p8"), files.path("AuthKey_SHUT.p8")])
    }

    @Test("Reading again what did not change changes nothing")
    func unchanged() throws {
        try files.add("ABC123DEFG")
        let store = try files.store()
        let before = store.key(try id("ABC123DEFG"))
        let change = store.reload()
        #expect(change.isEmpty && change.faults.isEmpty)
        #expect(store.key(try id("ABC123DEFG")) == before && before != nil)
    }

    @Test("Another key in the file of an ID is a new edition; a key that comes later is there after the next reading")
    func exchanged() throws {
        try files.add("ABC123DEFG")
        let store = try files.store()
        let before = try #require(store.key(try id("ABC123DEFG")))
        let key = try files.add("ABC123DEFG")
        try files.add("XYZ")
        #expect(store.reload() == .init(added: [try id("XYZ")], replaced: [try id("ABC123DEFG")]))
        let after = try #require(store.key(try id("ABC123DEFG")))
        #expect(after.key == key && after.key != before.key && after.edition > before.edition)
        #expect(store.key(try id("XYZ")) != nil)
    }

    @Test("A key whose file vanishes or breaks stays in use; that is told once, and once more after a return")
    func vanished() throws {
        let key = try files.add("ABC123DEFG")
        let store = try files.store()
        let gone = ProviderKeyStore.Change(vanished: [try id("ABC123DEFG")])
        for expected in [gone, .init()] {
            try? files.remove("AuthKey_ABC123DEFG.p8")
            #expect(store.reload() == expected)
            #expect(store.key(try id("ABC123DEFG"))?.key == key)
            #expect(store.keyID(bundleID: "a.b") == (try id("ABC123DEFG")))
        }
        try files.add("ABC123DEFG", key)
        #expect(store.reload().isEmpty)
        try files.write("rubbish", to: "AuthKey_ABC123DEFG.p8")
        let broken = store.reload()
        #expect(broken.vanished == gone.vanished && broken.newFaults.count == 1)
        #expect(store.key(try id("ABC123DEFG"))?.key == key)
        #expect(store.reload().isEmpty && store.faults == broken.faults)
    }

    @Test("A directory that cannot be read any more is a fault once, and nothing vanishes")
    func lostDirectory() throws {
        try files.add("ABC123DEFG")
        let store = try files.store()
        let away = files.directory + ".away"
        try FileManager.default.moveItem(atPath: files.directory, toPath: away)
        let change = store.reload()
        #expect(change.newFaults.map(\.file) == [files.directory] && change.vanished.isEmpty)
        #expect(store.reload().isEmpty && store.faults == change.faults)
        #expect(store.ids == [try id("ABC123DEFG")])
        try FileManager.default.moveItem(atPath: away, toPath: files.directory)
        #expect(store.reload().isEmpty && store.faults.isEmpty)
    }

    @Test("As the default of its team a key whose file is gone gives way to one that is there")
    func newDefault() throws {
        try files.add("AAA")
        let store = try files.store()
        #expect(store.keyID(bundleID: "a.b")?.key == "AAA")
        try files.add("BBB")
        _ = store.reload()
        #expect(store.keyID(bundleID: "a.b")?.key == "AAA")
        try files.remove("AuthKey_AAA.p8")
        _ = store.reload()
        #expect(store.keyID(bundleID: "a.b")?.key == "BBB")
        #expect(store.ids.map(\.key) == ["AAA", "BBB"])
    }

    @Test("The directory is read again while the role runs, and what changed is told")
    func reading() async throws {
        try files.add("ABC123DEFG")
        let store = try files.store()
        let lines = LogLines()
        try files.write("rubbish", to: "AuthKey_BAD.p8")
        try files.remove("AuthKey_ABC123DEFG.p8")
        await store.readingAgain(every: .milliseconds(1), logger: lines.logger) {
            await lines.next("provider keys read again")
        }
        #expect(lines.messages == ["provider key file not usable", "provider keys read again"])
    }
}

@Suite struct ProviderKeyRuleServerTests {
    private func rule(_ change: (inout BelfryConfiguration) -> Void) -> ProviderKeyRule {
        var configuration = BelfryConfiguration()
        configuration.keys.directory = "keys"
        change(&configuration)
        return ProviderKeyRule(configuration)
    }

    private func topic(team: String? = nil, key: String? = nil) -> AppOverrides {
        var topic = AppOverrides()
        topic.team = team
        topic.key = key
        return topic
    }

    private func ids(_ keys: String...) -> [ProviderKeyID] { keys.compactMap { ProviderKeyID(team: "T", key: $0) } }

    @Test("A bundle has the key that its topic names, else the default of its team, else that of the file's team")
    func choice() throws {
        let rule = rule {
            $0.keys.team = "T"
            $0.apps["own.key"] = topic(key: "K1")
            $0.apps["own.both"] = topic(team: "U", key: "K1")
            $0.apps["own.team"] = topic(team: "U")
            $0.apps["other"] = topic()
        }
        #expect(rule.choice(bundleID: "own.key") == .key(try #require(ProviderKeyID(team: "T", key: "K1"))))
        #expect(rule.choice(bundleID: "own.both") == .key(try #require(ProviderKeyID(team: "U", key: "K1"))))
        #expect(rule.choice(bundleID: "own.team") == .team("U"))
        for bundleID in ["other", "unknown"] { #expect(rule.choice(bundleID: bundleID) == .team("T")) }
        for bundleID in ["own.key", "own.both", "own.team"] { #expect(rule.isNamed(bundleID: bundleID)) }
        for bundleID in ["other", "unknown"] { #expect(!rule.isNamed(bundleID: bundleID)) }
    }

    @Test("Without a team in the file only topics that name theirs have a key")
    func noTeam() {
        let rule = rule { $0.apps["own.team"] = topic(team: "U") }
        #expect(rule.choice(bundleID: "own.team") == .team("U") && rule.choice(bundleID: "other") == nil)
    }

    @Test("A team's default is the first key by ID; keys of single topics come last, and those without a file behind")
    func defaults() {
        let plain = rule { $0.keys.team = "T" }
        #expect(plain.defaults(among: ids("B", "A", "C"), gone: [])["T"]?.key == "A")
        #expect(plain.defaults(among: ids("B", "A", "C"), gone: Set(ids("A")))["T"]?.key == "B")
        #expect(plain.defaults(among: ids("A"), gone: Set(ids("A")))["T"]?.key == "A")
        #expect(plain.defaults(among: [], gone: []).isEmpty)
        let reserved = rule {
            $0.keys.team = "T"
            $0.apps["a.b"] = topic(key: "A")
        }
        #expect(reserved.defaults(among: ids("A", "B"), gone: [])["T"]?.key == "B")
        #expect(reserved.defaults(among: ids("A", "B"), gone: Set(ids("B")))["T"]?.key == "A")
        #expect(reserved.defaults(among: ids("A"), gone: [])["T"]?.key == "A")
    }

    @Test("Each team has a default of its own")
    func teams() throws {
        let other = try #require(ProviderKeyID(team: "U", key: "Z"))
        let defaults = rule { _ in }.defaults(among: ids("A") + [other], gone: [])
        #expect(defaults == ["T": ids("A")[0], "U": other])
    }
}
