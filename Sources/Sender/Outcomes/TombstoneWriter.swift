import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import RedisClient
import TLSTransport
import TokenState

/// Writes tombstones of tokens that a trusted gateway called invalid: into Redis, push.tombstones and the filter.
///
/// A refusal waits here until its topic's health believes it; see ``AppHealth``. The notification itself has its
/// outcome by then. Each refusal counts towards the shard's memory until it is written or not believed: of a topic
/// ``ShardLimits/pendingTombstones`` may wait to be believed, and all those believed wait while Redis is away. Bound to
/// the shard's event loop.
final class TombstoneWriter {
    /// A token that the gateway called invalid.
    struct Refused {
        var topic: Topic
        var token: [UInt8]
        /// CRC-32 of the token.
        var checksum: UInt32
        /// The kind of topics for which it was; nil: all kinds.
        var kind: TopicKind?
        /// 1 or more; see ``AppHealth/tokenRefused(shard:_:now:random:)``. Of no use for one that is proven.
        var ticket: UInt64
        /// UNIX seconds, by this process' clock. Once the tombstone is dated, that date.
        var refusedAt: UInt32
        /// The same moment by the event loop's clock, which is never set.
        var loopTime: MonotonicTime
        /// The gateway named the time since when the token is dead, which `refusedAt` is: nothing else is needed to
        /// believe it. A registration since then outweighs it, and only Redis knows of that.
        var isProven: Bool

        /// Memory until its tombstone is written, about.
        var bytes: Int { ShardLimits.notificationBytes + token.count }
    }

    private typealias Writes = RedisWrites<AppToken, Refused>

    /// Called when Redis has answered that a token is dead whose refusal was proven.
    var onDead: (Refused) -> Void = { _ in }
    /// Called when every look-up finds the tombstone.
    var onWritten: (Refused) -> Void = { _ in }

    private let tokens: TokenTable?
    private let publisher: TombstonePublisher
    private let filters: DeadTokenSets?
    private let memory: ShardMemory
    private let availability: RedisAvailability
    private let eventLoop: any EventLoop
    private let writes: Writes
    private let unixMilliseconds: () -> Int64
    private let logger: Logger
    private var fresh: [Refused] = []
    /// Refusals by topic, in the order of their tickets.
    private var pending: [Int32: [Refused]] = [:]
    private var proven: [Refused] = []
    private var refusals: LineBudget

    init(
        tokens: TokenTable?,
        publisher: TombstonePublisher,
        filters: DeadTokenSets?,
        memory: ShardMemory,
        availability: RedisAvailability,
        eventLoop: any EventLoop,
        unixMilliseconds: @escaping () -> Int64,
        logger: Logger
    ) {
        self.tokens = tokens
        self.publisher = publisher
        self.filters = filters
        self.memory = memory
        self.availability = availability
        self.eventLoop = eventLoop
        writes = Writes(availability, eventLoop)
        self.unixMilliseconds = unixMilliseconds
        self.logger = logger
        refusals = LineBudget(burst: 10, perSecond: 1, now: MonotonicTime(eventLoop.now))
        writes.onTurn = { [unowned self] in date($0) }
        writes.onFailure = { refused, error in
            logger.warning("tombstone could not be written", metadata: refused.metadata(error))
        }
    }

    func add(_ refused: Refused) {
        memory.takeBytes(refused.bytes)
        guard !refused.isProven else { return proven.append(refused) }
        fresh.append(refused)
        pending[refused.topic.index, default: []].append(refused)
    }

    /// Takes the refusals since the previous call that are not proven, in order.
    func takeFresh() -> [Refused] {
        defer { fresh = [] }
        return fresh
    }

    /// Takes the refusals that are believed by now, or never will be, in order. Those that are believed are to be
    /// written.
    func takeSettled() -> [(refused: Refused, isBelieved: Bool)] {
        var all = proven.map { (refused: $0, isBelieved: true) }
        proven = []
        guard !pending.isEmpty else { return all }
        for (topic, refused) in pending.sorted(by: { $0.key < $1.key }) {
            guard let trust = refused.first?.topic.health.trust else { continue }
            let settled = refused.prefix { $0.ticket <= max(trust.through, trust.distrusted) }
            guard !settled.isEmpty else { continue }
            func isBelieved(_ refused: Refused) -> Bool {
                refused.ticket > trust.distrusted && refused.ticket <= trust.through
            }
            all += settled.map { ($0, isBelieved: isBelieved($0)) }
            for other in settled where !isBelieved(other) { memory.giveBack(other.bytes) }
            pending[topic] = settled.count == refused.count ? nil : Array(refused.dropFirst(settled.count))
        }
        return all
    }

    /// Writes a tombstone; repeated until it is written.
    func write(_ refused: Refused) {
        writes.add(refused, of: AppToken(topic: refused.topic.index, checksum: refused.checksum))
    }

    /// Dates a tombstone and writes it; the clock of the server that takes it is the witness.
    private func date(_ turn: Writes.Turn) {
        let refused = turn.write
        guard let tokens else {
            end(refused)
            return writes.end(turn)
        }
        let tag = refused.token.withUnsafeBytes { tokens.tag(of: $0) }
        let age = refused.loopTime.elapsed(until: MonotonicTime(eventLoop.now))
        // The time that a gateway names owes nothing to this process' clock.
        var clocks = refused.isProven ? [] : [unixMilliseconds()]
        tokens.redis.readClock(slot: refused.topic.tokens.keys.slot(tag: tag)) { [weak self] result in
            guard let self, writes.isOpen(turn) else { return }
            switch result {
            case .success(let witness): clocks.append(witness)
            // No right to TIME: better a date by one clock than no tombstone.
            case .failure(let error) where error.isMissingRight: break
            case .failure(let error): return failed(turn, error)
            }
            var dated = turn
            dated.write.refusedAt = TombstoneRule.date(refusedAt: refused.refusedAt, age: age, clocks: clocks)
            write(dated, to: tokens)
        }
    }

    /// Writes a tombstone whose date is ``Refused/refusedAt``.
    ///
    /// A repetition is dated again, never later than before: a later date might outweigh a registration that came
    /// meanwhile.
    private func write(_ turn: Writes.Turn, to tokens: TokenTable) {
        let refused = turn.write
        let change = TokenChange(
            environment: refused.topic.environment,
            bundleID: refused.topic.bundleID,
            token: refused.token,
            kind: refused.change
        )
        tokens.make(change, in: refused.topic.tokens) { [weak self] result in
            guard let self, writes.isOpen(turn) else { return }
            switch result {
            case .success(let facts):
                if refused.isProven, facts.isDead { onDead(refused) }
                publisher.publish(change, facts) { [weak self] in self?.putIntoFilter(change, facts, of: refused) }
                writes.end(turn)
            case .failure(let error):
                failed(turn, error)
            }
        }
    }

    private func failed(_ turn: Writes.Turn, _ error: RedisError) {
        // The writes may run twice.
        guard error.isLastingRefusal else { return writes.fail(turn, error) }
        if let passedOver = refusals.take(now: MonotonicTime(eventLoop.now)) {
            var metadata = turn.write.metadata(error)
            metadata["passed-over"] = .stringConvertible(passedOver)
            logger.error("tombstone was refused by Redis", metadata: metadata)
        }
        end(turn.write)
        writes.end(turn)
    }

    /// Puts the tombstone into the filter before the shard's memory of the token may go.
    private func putIntoFilter(_ change: TokenChange, _ facts: TokenFacts, of refused: Refused) {
        guard let filters else { return end(refused) }
        filters.noteChange(change, facts, from: eventLoop) { [weak self] in
            if let self, !availability.isClosed { end(refused) }
        }
    }

    private func end(_ refused: Refused) {
        memory.giveBack(refused.bytes)
        onWritten(refused)
    }
}

extension TombstoneWriter.Refused {
    fileprivate var change: TokenChange.Kind {
        if let kind { return .refuse(at: refusedAt, kind) }
        return .tombstone(at: refusedAt, isProven ? .feedback : .invalid)
    }

    fileprivate func metadata(_ error: RedisError) -> Logger.Metadata {
        [
            "app": "\(topic.bundleID)", "environment": "\(topic.environment)",
            "token": "\(TokenHash.text(token))", "error": "\(error)",
        ]
    }
}
