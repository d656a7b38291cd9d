import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import TokenState

/// Applies the records of a Kafka topic to the token state in Redis, in batches: the next one is read and sent while
/// Redis works on the one before (``BatchesInFlight``).
///
/// A batch's offsets are committed when every change in it was acknowledged by Redis, and what readers of
/// push.tombstones need to know of it, and every dead letter, by the broker. Changes are idempotent and their order
/// does not matter, but for ``TokenChange/Kind/takesBack``, so that a batch may be applied again after a crash. While
/// a batch takes long the group is served all the same, with paused partitions. Runs on `eventLoop`.
final class RecordApplier {
    /// The clients of an applier.
    struct Clients {
        var consumer: any GroupConsumer
        var producer: any MessageProducer
        var redis: any RedisPipeline
        /// Gives tokens their places in Redis.
        var layout: TokenLayout
        /// Compares the host's clock, by which records are judged; nil: they are not judged by it.
        var clock: ClockCheck?

        /// Runs the last steps of a start. If they fail all clients are closed: no other part would do it.
        func closedOnFailure(_ start: () throws(KafkaError) -> Void) throws(KafkaError) {
            do throws(KafkaError) {
                try start()
            } catch {
                consumer.close(timeoutMilliseconds: Limits.leaveTimeoutMilliseconds)
                producer.close(flushMilliseconds: 0)
                redis.close()
                throw error
            }
        }
    }

    /// Since its start.
    struct Counters: Equatable, Sendable {
        var applied = 0
        var deadLetters = 0
        /// Records that could not be used, by reason; what is consumed again counts again.
        var refused: [String: Int] = [:]
        /// Records of push.tombstones.
        var tombstones = 0
        /// Records deleted before they were read.
        var recordsLost = 0
        /// Partitions found to end before their committed offset.
        var offsetsBeyondEnd = 0
        /// Fetches whose bytes could not be read.
        var corruptFetches = 0
        /// Dead letters of which less was published, because the brokers refused them.
        var cut = 0
        /// Publications that wait now, because the brokers refuse them, or their Kafka topic.
        var barred = 0
    }

    /// The fixed limits of an applier.
    enum Limits {
        static let tick = TimeAmount.milliseconds(500)
        /// The longest time in which nothing is taken before the partitions are paused. Pausing drops what was fetched.
        static let blockedBeforePause = Duration.seconds(1)
        /// Longest wait of a revocation, or a stop, for the batches in flight.
        static let patience = Duration.seconds(10)
        static let leaveTimeoutMilliseconds: Int32 = 10_000
        static let flushTimeoutMilliseconds: Int32 = 5_000
    }

    /// The reason of a dead letter of a record whose change Redis refuses for good.
    static let refusalReason = "token-state-refused"

    let eventLoop: any EventLoop
    let clients: Clients
    let group: ApplierGroup
    let writer: BatchWriter
    /// Nil: nothing is applied again after a fail-over.
    private let replay: RecordReplay?
    private let batchLimit: Int
    private let source: String
    private let logger: Logger

    private var corruptFetches = CorruptFetches()
    /// Fetched and not looked at yet, oldest first.
    private var leftovers: [LeftoverBatch] = []
    /// Since when nothing could be taken; nil while something can.
    private var blockedSince: MonotonicTime?
    private var isTurning = false
    private var isTurnDue = false
    private var stopped: EventLoopPromise<Void>?
    private var isStopped = false
    private var ticking: RepeatingTimer?

    /// Records that came when none could be taken.
    private struct LeftoverBatch {
        var records: KafkaBatch
        /// Partitions that were given back since, or are fetched anew.
        var dropped: Set<Int32> = []
    }

    /// - Parameters:
    ///   - source: the Kafka topic.
    ///   - patience: longest wait of a revocation, or a stop, for the batches in flight. Changes are idempotent, so
    ///     giving up costs no more than that who takes over applies them again.
    ///   - publishes: whether readers of push.tombstones are to hear of changes; not of those that stand there already.
    init(
        eventLoop: any EventLoop,
        clients: Clients,
        source: String,
        names: TopicNames,
        batchLimit: Int,
        logger: Logger,
        patience: Duration = Limits.patience,
        replay: RecordReplay? = nil,
        publishes: Bool = true,
        decode: @escaping BatchWriter.Decode
    ) {
        self.eventLoop = eventLoop
        self.clients = clients
        self.replay = replay
        self.source = source
        self.batchLimit = batchLimit
        self.logger = logger
        writer = BatchWriter(
            eventLoop: eventLoop,
            producer: clients.producer,
            tokens: TokenTable(clients.redis, clients.layout),
            source: source,
            names: names,
            publishes: publishes,
            logger: logger,
            decode: decode
        )
        group = ApplierGroup(
            consumer: clients.consumer,
            replay: replay,
            source: source,
            patience: patience,
            logger: logger,
            clock: { MonotonicTime(eventLoop.now) }
        )
        group.inHand = { [unowned self] in writer.inFlight.partitions }
        group.onEvent = { [unowned self] in handle($0) }
        writer.onDone = { [unowned self] ends in
            group.applied(ends)
            turnSoon()
        }
    }

    var counters: Counters {
        var all = writer.counters
        all.barred = writer.barredCount
        all.recordsLost = Int(group.offsetsOutOfRange.recordsLost)
        all.offsetsBeyondEnd = group.offsetsOutOfRange.beyondEnd
        all.corruptFetches = corruptFetches.count
        return all
    }

    // MARK: Running

    func start() {
        eventLoop.preconditionInEventLoop()
        clients.clock?.start()
        replay?.start { [unowned self] in
            group.member.askAgain()
            turn()
        }
        ticking = eventLoop.repeating(after: .milliseconds(100), every: Limits.tick) { [unowned self] in tick() }
    }

    private func tick() {
        guard !isStopped else { return }
        group.tick()
        writer.retryPublishing()
        turn()
    }

    /// Takes the next batch if there is room for it; else serves the group.
    func turn() {
        // Handlers of the clients run from inside calls that are made here.
        guard !isTurning, !isStopped else { return }
        isTurning = true
        defer { isTurning = false }
        clients.producer.poll(timeoutMilliseconds: 0)
        // A batch that was dropped lets the one behind it end.
        writer.endFinished()
        if isReadyToTake() { takeNext() } else { serveGroup() }
    }

    /// Asks for another turn after sockets and Redis got theirs.
    ///
    /// A turn that is due already serves all who ask. A turn that takes a batch asks for the next one, and so does the
    /// end of the batch: turns would double.
    private func turnSoon() {
        guard !isTurnDue else { return }
        isTurnDue = true
        clients.consumer.nextRound { [weak self] in
            guard let self else { return }
            isTurnDue = false
            turn()
        }
    }

    private func isReadyToTake() -> Bool {
        guard writer.inFlight.mayTake, group.mayTake, clients.clock?.mayDecide ?? true else { return false }
        guard let replay, replay.isDue else { return true }
        // Positions go back: no batch in flight may move them on afterwards.
        guard writer.inFlight.isEmpty else { return false }
        replay.beginAgain(in: clients.consumer) { [weak self] in self?.wentBack(to: $0) }
        return !replay.isDue
    }

    /// Records are applied again, and those that were fetched before come again. A partition that stood still goes on.
    private func wentBack(to offsets: [Int32: Int64]) {
        drop(Array(offsets.keys))
        group.offsetsOutOfRange.forget(Array(offsets.keys))
        group.moved(offsets)
        turnSoon()
    }

    private func takeNext() {
        blockedSince = nil
        group.pause(false)
        if !leftovers.isEmpty { return applyLeftover(leftovers.removeFirst()) }
        group.mendOffsets()
        guard let leftover = consume() else { return }
        // The group may have taken partitions back just now.
        if group.mayTake { applyLeftover(leftover) } else { leftovers.append(leftover) }
    }

    /// Serves the group while nothing can be taken: a member that is not polled for `max.poll.interval.ms` is thrown
    /// out.
    private func serveGroup() {
        let now = MonotonicTime(eventLoop.now)
        let since = blockedSince ?? now
        blockedSince = since
        guard !group.mayTake || since + Limits.blockedBeforePause <= now else { return }
        group.pause(true)
        guard let leftover = consume() else { return }
        // Fetched before the pause: they would not come again.
        if !group.member.machine.isStopping { leftovers.append(leftover) }
        turnSoon()
    }

    private func consume() -> LeftoverBatch? {
        clients.consumer.consumeBatch(max: batchLimit, timeoutMilliseconds: 0).map { LeftoverBatch(records: $0) }
    }

    private func applyLeftover(_ leftover: LeftoverBatch) {
        let batch = writer.read(leftover.records) { message in
            wants(message, of: leftover)
        } onError: { error, message in
            report(error, of: message)
        }
        guard let batch else { return turnSoon() }
        replay?.applying(batch.starts)
        writer.write(batch)
        if writer.inFlight.mayTake { turnSoon() }
    }

    private func wants(_ message: KafkaMessageView, of leftover: LeftoverBatch) -> Bool {
        let (partition, offset) = (message.partition, message.offset)
        return !leftover.dropped.contains(partition) && group.positions.wants(partition, offset: offset)
            && !writer.inFlight.holds(partition, offset: offset)
    }

    /// Handles an error in place of a message.
    private func report(_ error: KafkaError, of message: KafkaMessageView) {
        if error.isPartitionEnd { return }
        if error.isOffsetOutOfRange {
            return group.offsetsOutOfRange.noteStandstill(of: message.partition, at: message.offset)
        }
        let place = KafkaTopicPartition(topic: source, partition: message.partition)
        let now = MonotonicTime(eventLoop.now)
        guard !corruptFetches.note(error, of: place, offset: message.offset, now: now, logger: logger) else { return }
        logger.error("consuming failed", metadata: ["source": "\(source)", "error": "\(error)"])
    }

    // MARK: Events

    func assign(_ partitions: [KafkaTopicPartition]) { group.member.assign(partitions) }

    func revoke(_ partitions: [KafkaTopicPartition], lost: Bool) { group.revoke(partitions, lost: lost) }

    /// The broker's word on a dead letter, or on a tombstone.
    func delivered(_ opaque: UInt64, error: KafkaError?) { writer.delivered(opaque, error: error) }

    private func handle(_ event: ApplierGroup.Member.Event) {
        switch event {
        case .abandoned(let partitions), .ended(let partitions):
            drop(partitions)
            turnSoon()
        case .assigned, .failed, .revoked: turnSoon()
        case .left:
            // Not from inside a call of the consumer.
            eventLoop.assumeIsolated().execute { [self] in finishStop() }
        }
    }

    /// Drops fetched records of `partitions` that are not applied yet.
    private func drop(_ partitions: [Int32]) {
        for index in leftovers.indices { leftovers[index].dropped.formUnion(partitions) }
        writer.leave(partitions)
    }

    // MARK: Stopping

    /// Lets the batches in flight end, commits, and leaves the group.
    func stop() -> EventLoopFuture<Void> {
        eventLoop.preconditionInEventLoop()
        if let stopped { return stopped.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        stopped = promise
        group.member.stop()
        turn()
        return promise.futureResult
    }

    private func finishStop() {
        guard !isStopped else { return }
        isStopped = true
        ticking?.cancel()
        clients.clock?.close()
        writer.close()
        clients.consumer.close(timeoutMilliseconds: Limits.leaveTimeoutMilliseconds)
        clients.producer.close(flushMilliseconds: Limits.flushTimeoutMilliseconds)
        replay?.close()
        clients.redis.close()
        stopped?.succeed()
    }
}
