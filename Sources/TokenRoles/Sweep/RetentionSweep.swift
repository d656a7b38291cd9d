import BelfrySupport
import Foundation
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import RedisClient
import TokenState

/// Removes what is older than the retention from the token state, bucket after bucket over all servers, at a bounded
/// rate.
///
/// One registrar at a time does, the one that has the lease. A token is removed only if its record is still what was
/// judged, so one that registers meanwhile survives, and two registrars that sweep at once do no harm. That a dead
/// token is gone is published to push.tombstones after it was removed: a crash in between leaves an entry in the
/// workers' filters that costs a look-up now and then, never a wrong silence. Lives on its event loop.
final class RetentionSweep {
    /// Since its start.
    struct Counters: Equatable, Sendable {
        /// Tokens.
        var lookedAt = 0
        var swept: [RetentionRule.Verdict: Int] = [:]
        /// Judged old, and changed before they were removed.
        var spared = 0
        /// Records of a layout that is not known here.
        var unreadable = 0
        /// Servers that a sweep went on without: dead, or no masters any more.
        var leftOut = 0
        /// Sweeps over all servers.
        var completed = 0
        /// UNIX seconds of the end of the last one; nil: none.
        var lastCompleted: Int64?
    }

    /// Time limits of a sweep.
    struct Limits: Sendable {
        /// Another registrar takes over when this one has not been heard of for so long.
        var lease = Duration.seconds(60)
        /// From the end of one sweep to the begin of the next.
        var pause = TimeAmount.hours(1)
        /// After Redis failed.
        var retry = TimeAmount.seconds(1)
        /// Failures in a row after which a sweep goes on without the server.
        var attempts = 10
    }

    private(set) var counters = Counters()
    /// This process is the one that sweeps.
    private(set) var hasLease = false

    static let leaseKey = "l:retention"

    private let eventLoop: any EventLoop
    private let redis: RedisCluster
    private let tokens: TokenTable
    private let tombstones: TombstonePublisher
    private let rule: RetentionRule
    private let limits: Limits
    private let lease: Lease
    private var term: Lease.Term
    private let logger: Logger
    private let now: () -> Int64
    /// Compares the host's clock, by which tokens are old; nil: it may decide.
    private let clock: ClockCheck?
    private var scanKeys: Int
    private var pace: SweepPace
    private var ticking: [RepeatingTimer] = []
    private var isStopped = false

    /// The sweep under way; nil: a pause, or another registrar's turn.
    private var position: Position?
    /// Numbers the sweeps, so that what was asked for by one that ended is not taken for the next one's.
    private var generation = 0
    private var nextSweep: NIODeadline?

    private struct Position {
        /// Servers that are still to be swept; the first is.
        var servers: [RedisAddress]
        var cursor = "0"
        /// Of the first server, in a row.
        var failures = 0
        /// The sweep went on without some server.
        var isPartial = false

        mutating func moveToNextServer() {
            servers.removeFirst()
            cursor = "0"
            failures = 0
        }
    }

    /// - Parameters:
    ///   - places: where tokens lie.
    ///   - owner: of the lease; of no other process.
    ///   - now: UNIX seconds.
    init(
        eventLoop: any EventLoop,
        redis: RedisCluster,
        places: TokenLayout,
        tombstones: TombstonePublisher,
        settings: RetentionSettings,
        limits: Limits = Limits(),
        clock: ClockCheck? = nil,
        owner: String,
        logger: Logger,
        now: @escaping () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        self.eventLoop = eventLoop
        self.redis = redis
        self.tombstones = tombstones
        self.limits = limits
        self.clock = clock
        self.logger = logger
        self.now = now
        tokens = TokenTable(redis, places)
        rule = settings.rule
        pace = SweepPace(rate: settings.rate)
        scanKeys = Self.scanKeys(rate: settings.rate)
        lease = Lease(redis, key: Self.leaseKey, owner: owner, duration: limits.lease)
        term = Lease.Term(duration: limits.lease)
    }

    /// Looks at so many tokens a second from now on.
    func use(rate: Int) {
        pace.use(rate: rate)
        scanKeys = Self.scanKeys(rate: rate)
    }

    /// A step looks at about a tenth of a second's worth of tokens, which lie in buckets of about 64.
    private static func scanKeys(rate: Int) -> Int { min(100, max(1, rate / 640)) }

    func start() {
        eventLoop.preconditionInEventLoop()
        guard rule.isOn else { return }
        let interval = TimeAmount.nanoseconds(Int64(limits.lease.wholeNanoseconds / 3))
        ticking = [
            eventLoop.repeating(after: .zero, every: interval) { [unowned self] in tick() },
            eventLoop.repeating(after: limits.retry, every: limits.retry) { [unowned self] in tombstones.retry() },
        ]
    }

    /// Stops where it is, and gives the lease back.
    ///
    /// - Parameter done: called once, when the server has heard of it, or cannot.
    func stop(_ done: @escaping () -> Void) {
        guard !isStopped else { return done() }
        isStopped = true
        for task in ticking { task.cancel() }
        end()
        guard hasLease else { return done() }
        hasLease = false
        lease.release(done)
    }

    private func tick() {
        let askedAt = MonotonicTime(.now())
        lease.hold { [weak self] result in
            guard let self, !isStopped else { return }
            // A sweep of many tokens takes hours, in which a server may well be away for a moment.
            hasLease = term.answered(result, askedAt: askedAt, now: MonotonicTime(.now()))
            if hasLease, mayDecide { beginIfDue() } else { end() }
        }
    }

    private var mayDecide: Bool { clock?.mayDecide ?? true }

    // MARK: One sweep

    private func beginIfDue() {
        guard position == nil, nextSweep.map({ $0 <= .now() }) ?? true, !redis.masterAddresses.isEmpty else { return }
        generation += 1
        position = Position(servers: redis.masterAddresses)
        scan(generation)
    }

    private func end() {
        position = nil
        generation += 1
    }

    private func complete() {
        let isPartial = position?.isPartial ?? false
        end()
        if !isPartial {
            counters.completed += 1
            counters.lastCompleted = now()
        }
        nextSweep = .now() + limits.pause
        logger.info(
            "swept the token state",
            metadata: [
                "looked-at": "\(counters.lookedAt)", "tombstones": "\(counters.swept[.tombstone] ?? 0)",
                "idle": "\(counters.swept[.idle] ?? 0)",
            ]
        )
        if limits.pause == .zero { beginIfDue() }
    }

    /// Asks for the next few buckets.
    private func scan(_ number: Int) {
        guard number == generation, let position else { return }
        guard let server = position.servers.first else { return complete() }
        redis.send(to: server) {
            TokenKeys.writeScan(from: position.cursor, count: scanKeys, into: &$0)
        } _: { [weak self] result in
            guard let self, number == generation else { return }
            switch result {
            case .success(let reply):
                self.position?.failures = 0
                // It may have waited for the master that sentinels named next, to which the cursor means nothing.
                if !redis.masterAddresses.contains(server) { self.position?.isPartial = true }
                let (next, keys) = TokenKeys.readScan(reply)
                look(into: keys, number) { [weak self] lookedAt in
                    self?.scanNext(from: next, after: max(lookedAt, self?.scanKeys ?? 0), number)
                }
            case .failure(let error):
                failed(server, error)
                retry(error, number)
            }
        }
    }

    private func failed(_ server: RedisAddress, _ error: RedisError) {
        position?.failures += 1
        // One that is dead must not keep what is old on all others. One that is no master any more has given its
        // buckets to others, which were swept before, or are no part of this sweep.
        guard let failures = position?.failures,
            failures >= limits.attempts || !redis.masterAddresses.contains(server)
        else { return }
        position?.moveToNextServer()
        position?.isPartial = true
        counters.leftOut += 1
        logger.warning(
            "a Redis server is left to the next sweep",
            metadata: ["redis": "\(server)", "failures": "\(failures)", "error": "\(error)"]
        )
    }

    private func scanNext(from cursor: String, after lookedAt: Int, _ number: Int) {
        guard number == generation else { return }
        if cursor == "0" { position?.moveToNextServer() } else { position?.cursor = cursor }
        let time = MonotonicTime(.now())
        pace.looked(at: lookedAt, now: time)
        let wait = TimeAmount.nanoseconds(Int64(clamping: pace.wait(now: time).wholeNanoseconds))
        eventLoop.assumeIsolated().scheduleTask(in: wait) { [weak self] in self?.scan(number) }
    }

    private func retry(_ error: RedisError, _ number: Int) {
        logger.warning("the token state could not be swept; trying again", metadata: ["error": "\(error)"])
        eventLoop.assumeIsolated().scheduleTask(in: limits.retry) { [weak self] in self?.scan(number) }
    }

    /// Judges every token of the buckets; calls back with how many there were when all that is to be published is
    /// acknowledged.
    private func look(into keys: [[UInt8]], _ number: Int, _ done: @escaping (Int) -> Void) {
        let work = Work(done)
        for key in keys {
            guard let place = TokenKeys.Parsed(bucket: key) else { continue }
            work.begin()
            redis.send(slot: RedisSlot(key: key)) { writer in
                writer.command("HGETALL", argumentCount: 1)
                writer.argument(key)
            } _: { [weak self] result in
                guard let self, number == generation else { return }
                switch result {
                case .success(let reply): work.lookedAt += judge(reply, of: place, work)
                case .failure(let error):
                    logger.warning("a bucket is left to the next sweep", metadata: ["error": "\(error)"])
                }
                work.finish()
            }
        }
        work.finish()
    }

    private func judge(_ reply: RedisReply, of place: TokenKeys.Parsed, _ work: Work) -> Int {
        guard mayDecide else { return 0 }
        let space = tokens.space(environment: place.environment, bundleID: place.bundleID)
        let seconds = now()
        for index in stride(from: 0, to: reply.count - 1, by: 2) {
            let value = reply[index + 1].bytes
            guard let record = TokenRecord(value) else {
                counters.unreadable += 1
                continue
            }
            let verdict = rule.verdict(
                registeredAt: record.registeredAt,
                describedAt: record.describedAt,
                // Refused for some kind of topic, a token that registered lives.
                tombstonedAt: record.registeredAt == 0 ? record.latestDeath : record.tombstonedAt,
                now: seconds
            )
            if let verdict {
                remove(
                    TokenLayout.token(ofField: reply[index].bytes),
                    record: Array(value),
                    verdict,
                    wasTold: record.latestDeath > 0,
                    place,
                    space,
                    work
                )
            }
        }
        counters.lookedAt += reply.count / 2
        return reply.count / 2
    }

    /// - Parameter wasTold: push.tombstones has told of the token.
    private func remove(
        _ token: [UInt8],
        record: [UInt8],
        _ verdict: RetentionRule.Verdict,
        wasTold: Bool,
        _ place: TokenKeys.Parsed,
        _ space: TokenTable.Space,
        _ work: Work
    ) {
        work.begin()
        tokens.sweep(token, record: record, in: space) { [weak self] result in
            guard let self, !isStopped else { return }
            guard case .success(true) = result else {
                // Not removed: the next sweep finds the token again.
                if case .success = result { counters.spared += 1 }
                return work.finish()
            }
            counters.swept[verdict, default: 0] += 1
            guard wasTold else { return work.finish() }
            tombstones.publishRemoval(bundleID: place.bundleID, token: token) { work.finish() }
        }
    }

    /// A step's answers that are awaited; begins with one for the asking itself.
    private final class Work {
        var lookedAt = 0
        private var pending = 1
        private let done: (Int) -> Void

        init(_ done: @escaping (Int) -> Void) {
            self.done = done
        }

        func begin() {
            pending += 1
        }

        func finish() {
            pending -= 1
            if pending == 0 { done(lookedAt) }
        }
    }
}
