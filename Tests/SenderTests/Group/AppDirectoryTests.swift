import BelfrySupport
import PipelineCore
import PushSchemas
import PushTopics
import TestSupport
import Testing

@testable import Sender

@Suite struct AppDirectoryTests {
    /// Makes topics and notes for which; bundles that begin with `known` have a certificate, those with `any` a default
    /// key, and so have others that are found.
    private final class Maker {
        private(set) var asked: [String] = []
        var found: Set<String> = []

        func directory(_ environments: [String]) -> AppDirectory {
            let configuration = BelfryConfiguration()
            var settings = ShardSettings(configuration, unixMilliseconds: { 0 }, randomBits: { 35 })
            settings.environments = Dictionary(
                uniqueKeysWithValues: environments.map { ($0, EnvironmentSettings(name: $0, gateways: [])) }
            )
            return AppDirectory(
                environments: environments,
                hasCertificate: { [self] _, bundleID in
                    bundleID.hasPrefix("known") || bundleID.hasPrefix("any") || found.contains(bundleID)
                },
                isOnDefaultKey: { _, bundleID in bundleID.hasPrefix("any") },
                make: { [self] index, environment, bundleID in
                    asked.append("\(index) \(environment) \(bundleID)")
                    return settings.makeTopic(index, environment: environment, bundleID: bundleID, filters: nil)
                }
            )
        }
    }

    private let maker = Maker()

    private func find(
        _ key: String,
        _ environment: String,
        in directory: AppDirectory
    ) throws -> AppDirectory.Found {
        let key = Array(key.utf8)
        let name = Array(environment.utf8)
        return try key.withUnsafeBytes { key in
            try name.withUnsafeBytes { name in try directory.find(key: key, environment: name, salt: .none) }
        }
    }

    /// Every bundle without a topic has records.
    private func recount(
        _ directory: AppDirectory,
        isBusy: (AppAccount) -> Bool = { _ in true }
    ) -> [(name: AppDirectory.Spelling, account: AppAccount)] {
        directory.recount(isBusy: isBusy) { _ in true }
    }

    private func topic(_ key: String, _ environment: String, in directory: AppDirectory) throws -> Topic {
        try #require(try find(key, environment, in: directory).account.topic)
    }

    private func fault(_ key: String, _ environment: String, in directory: AppDirectory) -> RecordRefusal? {
        do {
            _ = try find(key, environment, in: directory)
            return nil
        } catch {
            return error as? RecordRefusal
        }
    }

    @Test("The topic of a bundle with a certificate is there before any record; records find the same one")
    func beforehand() throws {
        let directory = maker.directory(["sandbox"])
        #expect(directory.topic(environment: "sandbox", bundleID: "none") == nil && directory.accounts.isEmpty)
        let topic = try #require(directory.topic(environment: "sandbox", bundleID: "known.a"))
        #expect(directory.topic(environment: "sandbox", bundleID: "known.a") === topic)
        #expect(directory.accounts(.none).isEmpty, "no commit names it yet")
        #expect(try self.topic("known.a", "", in: directory) === topic)
        #expect(directory.accounts(.none).count == 1 && maker.asked == ["0 sandbox known.a"])
    }

    @Test("Without a name the only environment is meant; the two spellings share all but their cursor")
    func onlyOne() throws {
        let directory = maker.directory(["sandbox"])
        let nameless = try find("known.a", "", in: directory)
        let named = try find("known.a", "sandbox", in: directory)
        #expect(nameless.account.topic?.environment == "sandbox")
        #expect(nameless.account.topic?.bundleID == "known.a")
        #expect(named.account === nameless.account)
        #expect(named.hash != nameless.hash)
        for found in [nameless, named] { #expect(directory.accounts(.none)[found.hash] === found.account) }
        var hashes: Set<AppHash> = []
        let isFound = Array("known.a".utf8).withUnsafeBytes { bundleID in
            directory.hasHash(ofBundle: bundleID, salt: .none) { hash in
                hashes.insert(hash)
                return false
            }
        }
        #expect(!isFound && hashes == [nameless.hash, named.hash])
    }

    @Test("With several environments a request must name one, and the refusal lists them")
    func needed() throws {
        let directory = maker.directory(["production", "sandbox"])
        let fault = try #require(self.fault("known.a", "", in: directory))
        #expect(fault.reason == "environment-needed")
        #expect(fault.detail.contains("production, sandbox"))
        #expect(maker.asked.isEmpty)
    }

    @Test("An environment that is not configured is refused by name, and the refusal lists the others")
    func unknown() throws {
        let directory = maker.directory(["production", "sandbox"])
        let fault = try #require(self.fault("known.a", "sandbo", in: directory))
        #expect(fault.reason == "environment-unknown")
        #expect(fault.detail.contains("'sandbo'"))
        #expect(fault.detail.contains("production, sandbox"))
        #expect(maker.asked.isEmpty)
    }

    @Test("A hundred bundles without certificate have topics; further ones only cursors, until there is room for them")
    func noCertificate() throws {
        let directory = maker.directory(["sandbox"])
        for number in 0..<AppLimits().withoutCertificate {
            #expect(try topic("other.\(number)", "", in: directory).bundleID == "other.\(number)")
        }
        #expect(!directory.hasRoom)
        for name in ["more", "most"] {
            let found = try find(name, "", in: directory)
            #expect(found.hash == AppHash(bundleID: name, environment: ""))
            #expect(found.account === directory.others && found.account.topic == nil)
        }
        #expect(try topic("known.a", "", in: directory).bundleID == "known.a", "one with a certificate needs no room")
        #expect(recount(directory).isEmpty && directory.uncertifiedCount == 2)

        // One comes to a certificate, and another one's certificate makes room.
        maker.found = ["other.7", "most"]
        let found = recount(directory)
        #expect(Set(found.compactMap(\.account.topic?.bundleID)) == ["more", "most"])
        for (name, account) in found { #expect(directory.accounts(.none)[name.hash(.none)] === account) }
        #expect(directory.uncertifiedCount == 0 && !directory.hasRoom)
        #expect(try topic("more", "", in: directory).bundleID == "more")
    }

    @Test("A bundle without certificate and without records leaves its room to another")
    func idle() throws {
        let directory = maker.directory(["sandbox"])
        for number in 0...AppLimits().withoutCertificate { _ = try find("other.\(number)", "", in: directory) }
        let first = directory.accounts[0]
        let found = recount(directory) { $0 !== first }
        #expect(found.map(\.account.topic?.bundleID) == ["other.\(AppLimits().withoutCertificate)"])
        #expect(directory.accounts[0] === first, "should records come, it is known")
    }

    @Test("Names beyond all limits share a class")
    func fabricated() throws {
        let directory = maker.directory(["sandbox"])
        let most = AppLimits().withoutCertificate + AppLimits().uncertified
        for number in 0..<most { #expect(try find("other.\(number)", "", in: directory).hash != .others) }
        let found = try find("more", "", in: directory)
        #expect(found.hash == .others && found.account === directory.others)
        #expect(try find("other.\(most - 1)", "", in: directory).hash != .others)
    }

    @Test("Bundles on a default key, whose names can be made up, have a limit: one more is refused and leaves no trace")
    func onDefaultKey() throws {
        let directory = maker.directory(["sandbox"])
        let most = AppLimits().onDefaultKey
        for number in 0..<most { #expect(try topic("any.\(number)", "", in: directory).bundleID == "any.\(number)") }
        let fault = try #require(self.fault("any.more", "", in: directory))
        #expect(fault.reason == "bundles-too-many")
        #expect(fault.detail.contains("any.more") && fault.detail.contains("\(most)"))
        #expect(directory.accounts.count == most && directory.uncertifiedCount == 0)
        #expect(try topic("any.0", "", in: directory).index == 0, "those that are there go on")
        #expect(try topic("known.a", "", in: directory).bundleID == "known.a", "one with a certificate needs no room")
        #expect(try find("other", "", in: directory).account.feeding == .nothing, "one without waits, as ever")
    }

    @Test("Topics end where the tickets of requests do: bundles beyond wait, and half of the room is for certificates")
    func mostTopics() throws {
        let directory = maker.directory(["sandbox"])
        let most = AppLimits().topics
        #expect(most == StreamTicket.mostQueues)
        for number in 0..<most / 2 { _ = try find("known.\(number)", "", in: directory) }
        #expect(!directory.hasRoom, "for one without a certificate")
        for number in most / 2..<most { _ = try find("known.\(number)", "", in: directory) }
        #expect(directory.accounts.count == most)
        let found = try find("known.more", "", in: directory)
        #expect(found.account === directory.others && found.hash != .others && directory.uncertifiedCount == 1)
    }

    @Test("Each bundle has one topic per environment, made once, found in any order")
    func madeOnce() throws {
        let directory = maker.directory(["production", "sandbox"])
        let names = [
            ("known.a", "sandbox"), ("known.b", "sandbox"), ("known.a", "production"), ("known.b", "production"),
        ]
        let made = try names.map { try topic($0.0, $0.1, in: directory) }
        #expect(made.map(\.index) == [0, 1, 2, 3])
        #expect(made.map(\.bundleID) == names.map(\.0))
        #expect(made.map(\.environment) == names.map(\.1))
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            let index = Int.random(in: 0..<4, using: &generator)
            #expect(try topic(names[index].0, names[index].1, in: directory) === made[index])
        }
        #expect(maker.asked.count == 4)
        #expect(directory.accounts.map(\.topic?.index) == [0, 1, 2, 3])
    }

    @Test("The memory of the last answer never takes one name for another that begins like it")
    func prefixes() throws {
        let directory = maker.directory(["sandbox", "sandbox-2"])
        _ = try find("known.a", "sandbox", in: directory)
        #expect(try topic("known.ab", "sandbox", in: directory).bundleID == "known.ab")
        #expect(try topic("known.a", "sandbox", in: directory).bundleID == "known.a")
        #expect(try topic("known.a", "sandbox-2", in: directory).environment == "sandbox-2")
        // An error in between does not disturb it.
        #expect(fault("known.a", "nowhere", in: directory) != nil)
        #expect(try topic("known.a", "sandbox", in: directory).environment == "sandbox")
    }

    @Test("The shard is the key's own, and every shard of a bundle has the same topic and cursor")
    func shards() throws {
        let directory = maker.directory(["sandbox"])
        let first = try find("known.a#3", "", in: directory)
        let second = try find("known.a#12", "", in: directory)
        let third = try find("known.a", "", in: directory)
        #expect([first.shard, second.shard, third.shard] == [3, 12, nil])
        #expect(try find("known.a#3", "", in: directory).shard == 3)
        #expect(second.account === first.account && second.hash == first.hash)
        #expect(third.account === first.account && third.hash == first.hash)
        #expect(maker.asked.count == 1)
    }

    @Test("A key that names no bundle is refused with the key's fault, also right after a good one")
    func badKeys() throws {
        let directory = maker.directory(["sandbox"])
        _ = try find("known.a", "", in: directory)
        #expect(fault("", "", in: directory)?.reason == "key-missing")
        #expect(fault("#1", "", in: directory)?.reason == "key-without-bundle")
        #expect(fault("known.a#", "", in: directory)?.reason == "shard-invalid")
        #expect(try topic("known.a", "", in: directory).bundleID == "known.a")
    }
}
