import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import ProviderCredentials
import PushTopics
import RedisClient
import TokenState

/// The bundles of a shard that have records but no certificate: asks Redis for ``MissingCertificate``, and logs alarms.
///
/// Redis keeps the time of the group's first miss of a certificate: `m:{<environment>:<bundle>}:certificate`, UNIX
/// milliseconds. The key is rewritten while the certificate is missing, and expires ``keyLife`` beyond the grace after
/// the last time, so that an unended count does not count for the next miss. Bound to one event loop; not Sendable.
final class MissingCertificates {
    typealias Name = CertificateStore.Name
    typealias Verdict = MissingCertificate.Verdict

    /// Most bundles tracked at once; records of further ones wait.
    static let limit = 1000
    /// The life of the group's count beyond the grace. It counts from the last miss of the certificate by a worker.
    static let keyLife = Duration.seconds(86_400)
    /// Time between two attempts to end a count in Redis.
    private static let endInterval = Duration.seconds(10)

    private struct Entry {
        /// Distinguishes a bundle that is missed again from the one that an answer is for.
        let number: UInt64
        var machine: MissingCertificate
    }

    private let tokens: TokenTable?
    private let grace: Duration
    private let eventLoop: any EventLoop
    private let unixMilliseconds: () -> Int64
    private let logger: Logger

    private var entries: [Name: Entry] = [:]
    private var nextNumber: UInt64 = 0
    /// Counts in Redis to end, with the time of the next attempt; nil: one is under way.
    private var endings: [Name: MonotonicTime?] = [:]
    /// Bundles whose tokens are to be searched, one after the other.
    private var searches: [(name: Name, number: UInt64)] = []
    private var isSearching = false
    private var nextOverflowAlarm = MonotonicTime(nanoseconds: 0)

    /// KEYS[1]: the group's count; ARGV: UNIX milliseconds now, milliseconds until the count expires, 1 if it begins
    /// anew, else 0.
    static let miss = RedisScript(
        """
        local since = ARGV[3] == '0' and tonumber(redis.call('GET', KEYS[1]) or '') or tonumber(ARGV[1])
        redis.call('SET', KEYS[1], string.format('%.0f', since), 'PX', ARGV[2])
        return since
        """
    )

    /// - Parameters:
    ///   - tokens: nil: there is no token state, so that it is never known that a bundle has no tokens.
    ///   - grace: see ``WorkerSettings/certificateGrace``.
    ///   - unixMilliseconds: UNIX milliseconds now.
    init(
        tokens: TokenTable?,
        grace: Duration,
        eventLoop: any EventLoop,
        unixMilliseconds: @escaping () -> Int64,
        logger: Logger
    ) {
        self.tokens = tokens
        self.grace = grace
        self.eventLoop = eventLoop
        self.unixMilliseconds = unixMilliseconds
        self.logger = logger
    }

    // MARK: Asked by the shard

    /// The verdict on records of a bundle without a certificate. Never waits: Redis is asked in the background.
    ///
    /// Called at least every five minutes while there are records of the bundle.
    func verdict(bundleID: String, environment: String) -> Verdict {
        let name = Name(environment: environment, bundleID: bundleID)
        let now = now
        if entries[name] == nil {
            guard entries.count < Self.limit else {
                overflow(now)
                return .waits
            }
            nextNumber += 1
            entries[name] = Entry(number: nextNumber, machine: MissingCertificate(grace: grace, now: now))
            advance(name, now)
        }
        entries[name]?.machine.askedAbout(now: now)
        return entries[name]?.machine.verdict(now: now) ?? .waits
    }

    /// Notes that the bundle has a certificate. Ends the group's count, also one from before this process.
    ///
    /// Called once for each bundle with a certificate when its first record comes, and when a reading of the
    /// certificates adds one.
    func found(bundleID: String, environment: String) {
        let name = Name(environment: environment, bundleID: bundleID)
        if entries.removeValue(forKey: name) != nil {
            logger.notice("certificate is there again", metadata: name.metadata)
        }
        end(name)
    }

    /// The bundles without a certificate, by environment and name; ``limit`` at most.
    var waiting: [(bundleID: String, environment: String)] {
        entries.keys.sorted().map { ($0.bundleID, $0.environment) }
    }

    /// Asks, alarms and forgets when due. Called about every second.
    func tick(now: MonotonicTime) {
        for name in entries.keys.sorted() {
            if entries[name]?.machine.isForgotten(now: now) == true {
                entries[name] = nil
            } else {
                advance(name, now)
            }
        }
        // A bundle that is missed again begins anew with its next question.
        let overdue = endings.filter { name, time in entries[name] == nil && time.map { $0 <= now } ?? false }
        for name in overdue.keys.sorted() { end(name) }
    }

    // MARK: Effects

    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    private func advance(_ name: Name, _ now: MonotonicTime) {
        guard var entry = entries[name] else { return }
        let actions = entry.machine.tick(now: now)
        // Before anything is sent, because a client may answer at once.
        entries[name] = entry
        for action in actions {
            switch action {
            case .alarm:
                logger.critical("certificate missing for a bundle with records", metadata: name.metadata)
            case .askSince:
                askSince(name, entry.number)
            case .askTokens:
                searches.append((name, entry.number))
                searchNext()
            }
        }
    }

    private func overflow(_ now: MonotonicTime) {
        guard nextOverflowAlarm <= now else { return }
        nextOverflowAlarm = now + MissingCertificate.alarmInterval
        logger.critical(
            "too many bundles without a certificate",
            metadata: ["tracked": "\(entries.count)"]
        )
    }

    private func askSince(_ name: Name, _ number: UInt64) {
        guard let redis = tokens?.redis else {
            return hear(name, number) { $0.heardSince(nil, unixMilliseconds: 0, now: $1) }
        }
        // By the earlier of two clocks: one that is ahead would end the grace of all at once.
        redis.readClock(slot: RedisSlot(key: name.key)) { [weak self] result in
            guard let self else { return }
            askSince(name, number, unixMilliseconds: min(unixMilliseconds(), (try? result.get()) ?? .max))
        }
    }

    private func askSince(_ name: Name, _ number: UInt64, unixMilliseconds: Int64) {
        guard let redis = tokens?.redis else { return }
        let key = name.key
        let life = grace + Self.keyLife
        // A count that could not be ended yet does not count: it begins anew.
        let isStale = endings[name] != nil
        redis.evaluate(Self.miss, slot: RedisSlot(key: key), keyCount: 1, argumentCount: 3) { writer in
            writer.argument(key)
            writer.argument(Int(unixMilliseconds))
            writer.argument(Int(life / .milliseconds(1)))
            writer.argument(isStale ? 1 : 0)
        } _: { [weak self] result in
            guard let self else { return }
            let since = (try? result.get())?.integer
            if isStale, since != nil { endings[name] = nil }
            hear(name, number) { $0.heardSince(since, unixMilliseconds: unixMilliseconds, now: $1) }
        }
    }

    private func searchNext() {
        while !isSearching, !searches.isEmpty {
            let (name, number) = searches.removeFirst()
            guard let tokens, entries[name]?.number == number else { continue }
            guard tokens.layout != nil else {
                hear(name, number) { $0.heardTokens(nil, now: $1) }
                continue
            }
            isSearching = true
            RegisteredTokenSearch(
                tokens.redis,
                environment: name.environment,
                bundleID: name.bundleID
            ) { [weak self] isAny in
                guard let self else { return }
                isSearching = false
                hear(name, number) { $0.heardTokens(isAny, now: $1) }
                searchNext()
            }.start()
        }
    }

    private func hear(_ name: Name, _ number: UInt64, _ change: (inout MissingCertificate, MonotonicTime) -> Void) {
        guard var entry = entries[name], entry.number == number else { return }
        let before = entry.machine.verdict(now: now)
        change(&entry.machine, now)
        let after = entry.machine.verdict(now: now)
        entries[name] = entry
        guard before != after, after == .giveUp else { return }
        logger.error(
            "records of a bundle without certificate and tokens become dead letters",
            metadata: name.metadata
        )
    }

    private func end(_ name: Name) {
        guard let redis = tokens?.redis else { return }
        let key = name.key
        // A count beyond the limit is not tried again: it expires.
        if endings.count < Self.limit || endings[name] != nil { endings[name] = .some(nil) }
        redis.send(slot: RedisSlot(key: key)) { writer in
            writer.command("DEL", argumentCount: 1)
            writer.argument(key)
        } _: { [weak self] result in
            guard let self, endings[name] != nil else { return }
            switch result {
            case .success: endings[name] = nil
            case .failure: endings[name] = .some(now + Self.endInterval)
            }
        }
    }
}

extension CertificateStore.Name {
    /// The key of the group's count.
    fileprivate var key: [UInt8] { Array("m:{\(environment):\(bundleID)}:certificate".utf8) }

    fileprivate var metadata: Logger.Metadata { ["environment": "\(environment)", "app": "\(bundleID)"] }
}
