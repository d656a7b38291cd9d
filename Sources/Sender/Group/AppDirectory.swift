import Glibc
import PipelineCore
import PushSchemas
import PushTopics

/// Finds the topic of a record by its key and environment; makes it on first use.
///
/// Bound to the shard's event loop.
final class AppDirectory {
    /// A record's topic.
    struct Found {
        var hash: AppHash
        var account: AppAccount
        /// The shard of the bundle that the key names.
        var shard: UInt32?
    }

    /// Makes a topic of a configured environment.
    typealias Make = (_ index: Int32, _ environment: String, _ bundleID: String) -> Topic

    private(set) var accounts: [AppAccount] = []
    /// Account of records that are refused as a whole.
    let refused = AppAccount(nil)
    /// Account of bundles without a certificate beyond the limit: nothing of them is fed.
    let others = AppAccount(nil, feeding: .nothing)

    private let limits: AppLimits
    private let environments: [String]
    /// Environments as records may name them; the empty name first.
    private let environmentBytes: [[UInt8]]
    private let hasCertificate: (_ environment: String, _ bundleID: String) -> Bool
    private let isOnDefaultKey: (_ environment: String, _ bundleID: String) -> Bool
    private let make: Make
    private var indices: [Name: Int32] = [:]
    /// Of topics that records were met of, by the names in these.
    private var spellings: [Spelling: Int32] = [:]
    private var withoutCertificate = 0
    private var onDefaultKey = 0
    /// Bundles that wait for a certificate, or for room, and have cursors of their own.
    private var uncertified: [Spelling: Name] = [:]
    private var nextAlarm = MonotonicTime(nanoseconds: 0)
    private var nextLookAtOthers = MonotonicTime(nanoseconds: 0)
    /// Time between two looks at records without a cursor of their own. [ours]
    private static let othersInterval = Duration.seconds(10)
    /// The last answer: consecutive records mostly belong to one bundle, be they of different shards.
    private var latest: Answer?

    /// A class, so that looking at it counts one reference only.
    private final class Answer {
        let bundleID: [UInt8]
        let environment: [UInt8]
        let salt: AppSalt
        let hash: AppHash
        let account: AppAccount

        init(
            _ bundleID: UnsafeRawBufferPointer,
            _ environment: UnsafeRawBufferPointer,
            _ salt: AppSalt,
            _ hash: AppHash,
            _ account: AppAccount
        ) {
            self.bundleID = Array(bundleID)
            self.environment = Array(environment)
            self.salt = salt
            self.hash = hash
            self.account = account
        }

        func isAbout(
            _ bundleID: UnsafeRawBufferPointer,
            _ environment: UnsafeRawBufferPointer,
            _ salt: AppSalt
        ) -> Bool {
            self.salt == salt && AppDirectory.areEqual(self.bundleID, bundleID)
                && AppDirectory.areEqual(self.environment, environment)
        }
    }

    private struct Name: Hashable {
        var environment: String
        var bundleID: String
    }

    /// A topic's name as records have it: the environment may be left out. Each has a cursor of its own.
    struct Spelling: Hashable, Comparable {
        var environment: String
        var bundleID: String

        /// The name in the commits of a partition.
        func hash(_ salt: AppSalt) -> AppHash {
            AppHash(bundleID: bundleID, environment: environment, salt: salt)
        }

        static func < (left: Self, right: Self) -> Bool {
            (left.bundleID, left.environment) < (right.bundleID, right.environment)
        }
    }

    /// - Parameter isOnDefaultKey: the bundle's only credential is its team's default key, as any bundle's would be.
    init(
        _ limits: AppLimits = AppLimits(),
        environments: [String],
        hasCertificate: @escaping (_ environment: String, _ bundleID: String) -> Bool,
        isOnDefaultKey: @escaping (_ environment: String, _ bundleID: String) -> Bool,
        make: @escaping Make
    ) {
        self.limits = limits
        self.environments = environments
        environmentBytes = [[]] + environments.map { Array($0.utf8) }
        self.hasCertificate = hasCertificate
        self.isOnDefaultKey = isOnDefaultKey
        self.make = make
    }

    /// - Parameter salt: of the record's partition.
    /// - Throws: the key is invalid, the environment is not configured, or too many bundles are on a default key.
    func find(
        key: UnsafeRawBufferPointer,
        environment: UnsafeRawBufferPointer,
        salt: AppSalt
    ) throws(RecordRefusal) -> Found {
        let parsed = try RecordRefusal.of { () throws(RecordError) in try RecordKeyView(parsing: key) }
        if let latest, latest.isAbout(parsed.bundleID, environment, salt) {
            return Found(hash: latest.hash, account: latest.account, shard: parsed.shard)
        }
        let hash = AppHash(bundleID: parsed.bundleID, environment: environment, salt: salt)
        let spelling = Spelling(
            environment: String(decoding: environment, as: UTF8.self),
            bundleID: String(decoding: parsed.bundleID, as: UTF8.self)
        )
        let name = Name(environment: try resolve(spelling.environment), bundleID: spelling.bundleID)
        guard let account = try account(of: name, spelling) else {
            // Not remembered: there may be room for the bundle later.
            return Found(hash: isKept(name, spelling) ? hash : .others, account: others, shard: parsed.shard)
        }
        latest = Answer(parsed.bundleID, environment, salt, hash, account)
        return Found(hash: hash, account: account, shard: parsed.shard)
    }

    /// The topic of a bundle, whether records of it were met or not; nil: it has no certificate, or there is no room.
    func topic(environment: String, bundleID: String) -> Topic? {
        guard hasCertificate(environment, bundleID) else { return nil }
        let place = try? index(of: Name(environment: environment, bundleID: bundleID))
        return place.flatMap { accounts[Int($0)].topic }
    }

    /// The hash of the topic that a record names, be it configured or not; nil: the key names no bundle.
    static func hash(
        key: UnsafeRawBufferPointer,
        environment: UnsafeRawBufferPointer,
        salt: AppSalt
    ) -> AppHash? {
        guard let parsed = try? RecordKeyView(parsing: key) else { return nil }
        return AppHash(bundleID: parsed.bundleID, environment: environment, salt: salt)
    }

    /// The accounts of topics already met, by their names in the commits of a partition.
    func accounts(_ salt: AppSalt) -> [AppHash: AppAccount] {
        var found: [AppHash: AppAccount] = [:]
        found.reserveCapacity(spellings.count)
        for (spelling, index) in spellings.sorted(by: { $0.key < $1.key }) {
            found[spelling.hash(salt)] = accounts[Int(index)]
        }
        return found
    }

    /// One of a bundle's possible hashes fulfils a condition. Possible are those with the environment left out, or with
    /// one of those configured.
    func hasHash(
        ofBundle bundleID: UnsafeRawBufferPointer,
        salt: AppSalt,
        where fulfils: (AppHash) -> Bool
    ) -> Bool {
        environmentBytes.contains { environment in
            environment.withUnsafeBytes { fulfils(AppHash(bundleID: bundleID, environment: $0, salt: salt)) }
        }
    }

    /// One more bundle without a certificate can have a topic. Those that had one before and are done with count, too:
    /// half of all topics is for bundles with a certificate.
    var hasRoom: Bool {
        withoutCertificate < limits.withoutCertificate && accounts.count < limits.topics / 2
    }

    /// Bundles that wait for a certificate, or for room.
    var uncertifiedCount: Int { uncertified.count }

    /// Records of ``AppHash/others`` are to be read again: there may be room for cursors of their own by now.
    private(set) var looksAtOthers = false

    /// Lets the others be looked at now and then.
    func tick(now: MonotonicTime) {
        guard nextLookAtOthers <= now else { return }
        nextLookAtOthers = now + Self.othersInterval
        looksAtOthers = true
    }

    /// A record of the others was read again, and there is no room.
    func stopLookingAtOthers() { looksAtOthers = false }

    /// Counts the bundles without a certificate anew, and makes topics of those that have waited for one.
    ///
    /// - Parameters:
    ///   - isBusy: the account has records; one without leaves its room to others.
    ///   - isWaiting: records wait at the cursor of a bundle without a topic; one without leaves its room to others.
    /// - Returns: the new topics' accounts, or that of refused records, by the names of the cursors that their bundles
    ///   have had.
    func recount(
        isBusy: (AppAccount) -> Bool,
        isWaiting: (Spelling) -> Bool
    ) -> [(name: Spelling, account: AppAccount)] {
        withoutCertificate = accounts.count { account in
            guard let topic = account.topic else { return false }
            return !hasCertificate(topic.environment, topic.bundleID) && isBusy(account)
        }
        var found: [(name: Spelling, account: AppAccount)] = []
        for (spelling, name) in uncertified.sorted(by: { $0.key < $1.key }) {
            guard isWaiting(spelling) else {
                uncertified[spelling] = nil
                continue
            }
            let account: AppAccount?
            do throws(RecordRefusal) { account = try self.account(of: name, spelling) } catch { account = refused }
            guard let account else { continue }
            uncertified[spelling] = nil
            found.append((spelling, account))
        }
        return found
    }

    /// Bundles wait for room, and that was not reported lately.
    func isAlarmDue(now: MonotonicTime) -> Bool {
        guard !uncertified.isEmpty, nextAlarm <= now else { return false }
        nextAlarm = now + MissingCertificate.alarmInterval
        return true
    }

    /// The bundle has a cursor of its own while it has no topic.
    private func isKept(_ name: Name, _ spelling: Spelling) -> Bool {
        if uncertified[spelling] != nil { return true }
        guard uncertified.count < limits.uncertified else { return false }
        uncertified[spelling] = name
        return true
    }

    /// The account of a bundle, made on first use; nil: there is no room yet.
    ///
    /// - Throws: too many bundles are on a default key.
    private func account(of name: Name, _ spelling: Spelling) throws(RecordRefusal) -> AppAccount? {
        guard let index = try index(of: name) else { return nil }
        spellings[spelling] = index
        return accounts[Int(index)]
    }

    /// The place of a bundle's account, made on first use; nil: there is no room yet.
    ///
    /// - Throws: too many bundles are on a default key.
    private func index(of name: Name) throws(RecordRefusal) -> Int32? {
        if let known = indices[name] { return known }
        guard accounts.count < limits.topics else { return nil }
        let isOnDefaultKey = isOnDefaultKey(name.environment, name.bundleID)
        // Asked first: nothing at all is kept of a bundle that is refused.
        if isOnDefaultKey, onDefaultKey >= limits.onDefaultKey { throw tooMany(with: name) }
        let isThere = hasCertificate(name.environment, name.bundleID)
        if !isThere {
            guard hasRoom else { return nil }
            withoutCertificate += 1
        }
        if isOnDefaultKey { onDefaultKey += 1 }
        let index = Int32(accounts.count)
        let account = AppAccount(make(index, name.environment, name.bundleID))
        // The first records of the bundle come before the next look at certificates and levers.
        if !isThere || account.topic?.control.slowsDown == true { account.topic?.flow.waitForLook() }
        accounts.append(account)
        indices[name] = index
        return index
    }

    private func tooMany(with name: Name) -> RecordRefusal {
        RecordRefusal(
            reason: "bundles-too-many",
            detail: "\(name.bundleID) in environment \(name.environment) has neither a certificate nor an entry under "
                + "topics; the key of keys.team alone serves \(limits.onDefaultKey) bundles at most, and does already"
        )
    }

    private func resolve(_ environment: String) throws(RecordRefusal) -> String {
        if environment.isEmpty {
            guard environments.count == 1 else {
                throw RecordRefusal(
                    reason: "environment-needed",
                    detail: "several environments are configured, so the request must name one of "
                        + environments.joined(separator: ", ")
                )
            }
            return environments[0]
        }
        guard environments.contains(environment) else {
            throw RecordRefusal(
                reason: "environment-unknown",
                detail: "environment '\(printable(environment))' is not configured; allowed: "
                    + environments.joined(separator: ", ")
            )
        }
        return environment
    }

    private static func areEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        known.count == bytes.count
            && known.withUnsafeBytes { left in
                guard let first = left.baseAddress, let second = bytes.baseAddress else { return bytes.isEmpty }
                return memcmp(first, second, bytes.count) == 0
            }
    }
}
