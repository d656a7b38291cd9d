import APNsProtocol
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas

/// One event-loop thread with everything it needs: a Kafka consumer and producer, a Redis pipeline, gateway connections.
///
/// Shards share nothing. Stages, in one direction: consume and validate (`+Intake`) → token state (`+Lookup`) → encode and
/// write (`+Sending`, `+Coalescing`), or park (`+Parking`) → settle (`+Settling`) → publish (`+Publishing`) → commit (`+Commit`); partitions come and go in
/// `+Rebalance`. Everything runs on `eventLoop`.
final class WorkerShard {
    let settings: ShardSettings
    let eventLoop: any EventLoop
    let logger: Logger
    let consumer: any GroupConsumer
    let producer: any MessageProducer
    /// Nil when the worker runs without token state.
    let redis: (any RedisPipeline)?
    /// The token state in Redis; nil without.
    let tokens: TokenTable?
    let tombstones: TombstonePublisher
    /// The dead tokens, as far as push.tombstones tells; nil: not followed.
    let filters: TombstoneFilters?
    let gateways: any GatewayDoor
    /// Makes what reads push.parked, when something is to return for the first time.
    let makeReader: () throws(KafkaError) -> any PartitionReader

    /// By assignment number; nil once the partition is gone.
    var partitions: [PartitionState?] = []
    /// The partitions that are assigned now, by partition number.
    var assigned: [Int32: PartitionState] = [:]
    /// Assigned by the group, but their start positions are not known yet.
    var awaitingPositions: [KafkaTopicPartition] = []
    var revocation: Revocation?
    /// The group has said what is this shard's, be it nothing, and it has begun.
    var hasJoined = false
    /// Partitions that stand still because their next offset is not there.
    var gaps: Set<Int32> = []
    var refused = RefusedPositions()
    /// What reads push.parked.
    var reader: (any PartitionReader)?
    /// Before that it is not tried again.
    var nextReading = MonotonicTime(nanoseconds: 0)
    /// Before that the end of push.parked is not asked for again.
    var nextEndQuery = MonotonicTime(nanoseconds: 0)
    /// The copy for push.parked that is in the making.
    var openCopy: OpenCopy?
    var senders: SenderDirectory
    /// Messages consumed and not taken in yet.
    var rest: Rest?
    /// Batches on their way to the connections, oldest first.
    var prepared: [PreparedBatch] = []
    /// Batches taken in so far, which is the number of the last one.
    var batchesTakenIn: UInt64 = 0
    var publications = PublicationTable()
    /// The request last decoded to publish something about it.
    var lastSource: SourceRequest?
    /// Whether the sending waits for Redis.
    var redisPatience: TokenStorePatience
    /// What is sent and not remembered yet, while requests are remembered.
    var requestsUnderWay = RequestsUnderWay()
    /// What waits for newer ones of its coalescing key.
    var coalescing = Coalescing()
    var counters = WorkerCounters()
    var isCommitting = false
    var nextCommit: MonotonicTime
    var nextRetry: MonotonicTime
    /// Since when nothing could be taken in; nil while it can.
    var blockedSince: MonotonicTime?
    /// When the last tick was: tells how long something held the event loop up.
    private var lastTick: MonotonicTime
    /// The last tick left the lanes alone; the next one does not, or a loop that is always slow would never settle.
    private var hasPassedOver = false

    private(set) var state = State.running
    private var drained: EventLoopPromise<Void>?
    private var ticking: RepeatedTask?
    private var isTurning = false

    enum State {
        case running
        /// No more is taken from Kafka; what is in flight settles.
        case draining
        /// Everything has settled, or the time is over, and is committed; still a member of the group.
        case drained
        case stopped
    }

    init(
        settings: ShardSettings,
        eventLoop: any EventLoop,
        consumer: any GroupConsumer,
        producer: any MessageProducer,
        redis: (any RedisPipeline)?,
        filters: TombstoneFilters? = nil,
        gateways: any GatewayDoor,
        makeReader: @escaping () throws(KafkaError) -> any PartitionReader,
        logger: Logger
    ) {
        self.settings = settings
        self.eventLoop = eventLoop
        self.consumer = consumer
        self.producer = producer
        self.redis = redis
        tokens = redis.map { TokenTable($0) }
        self.filters = filters
        tombstones = TombstonePublisher(producer: producer, topic: settings.names.tombstones, logger: logger)
        self.gateways = gateways
        self.makeReader = makeReader
        self.logger = logger
        senders = SenderDirectory(environments: settings.environments.keys.sorted())
        redisPatience = TokenStorePatience(limit: settings.redisPatience)
        let now = MonotonicTime(eventLoop.now)
        nextCommit = now
        nextRetry = now
        lastTick = now
    }

    var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    // MARK: Running

    func start() {
        eventLoop.preconditionInEventLoop()
        redis?.start()
        ticking = eventLoop.repeating(after: ShardLimits.tick, every: ShardLimits.tick) { [unowned self] in onTick() }
    }

    /// Takes what is ready from Kafka and moves every stage on. Called when a client has something, and when a stage has
    /// room again.
    func turn() {
        // A client's callback can come from inside a call made here, and the last ones from those that close: each look-up
        // that fails so would be asked for again, without end.
        guard !isTurning, !isStopped else { return }
        isTurning = true
        defer { isTurning = false }
        producer.poll(timeoutMilliseconds: 0)
        // First what is old.
        let hasRead = takeInParked()
        requestTokenState()
        var batches = 0
        while canTakeIn, batches < ShardLimits.batchesPerTurn, let messages = nextMessages() {
            takeIn(messages)
            requestTokenState()
            sendPrepared()
            batches += 1
            // The stages are full most of the time when there is a backlog; only standing still is being blocked.
            blockedSince = nil
        }
        sendPrepared()
        pumpLanes()
        // After that, for what only waited for the lanes to have room.
        if releaseCoalesced() { pumpLanes() }
        if hasRead || batches == ShardLimits.batchesPerTurn {
            // More may be waiting, but sockets and Redis get their turn first. Not with `execute`: an event loop of NIO runs
            // tasks until none is due before it looks at its sockets again.
            eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.socketTurn) { [weak self] in self?.turn() }
        }
    }

    /// Whether there is room for another batch.
    var canTakeIn: Bool {
        guard case .running = state else { return false }
        return revocation == nil && prepared.count < ShardLimits.preparedBatches
            && publications.count < ShardLimits.publications
    }

    private func onTick() {
        let now = now
        // After a hold-up an answer may lie unread in a socket, so that silence proves nothing yet; by the next tick the
        // event loop has looked.
        hasPassedOver = !hasPassedOver && lastTick + ShardLimits.holdUp <= now
        lastTick = now
        coalescing.ticks += 1
        if !hasPassedOver {
            for sender in senders.senders {
                for lane in sender.lanes { lane.tick(now: now) }
                sender.endProbation(now: now)
            }
        }
        if nextRetry <= now {
            nextRetry = now + ShardLimits.retryInterval
            retryPublications()
            tombstones.retry()
            requestPositions()
            closeGaps()
            requestTokenState()
        }
        tendTopics(now: now)
        endLateLookups(now: now)
        commitIfDue(now: now)
        finishRevocationIfSettled(now: now)
        guard case .running = state else { return producer.poll(timeoutMilliseconds: 0) }
        applyBackpressure(now: now)
        turn()
    }

    /// Keeps serving the group while there is no room: partitions are paused, so that polling brings events only.
    private func applyBackpressure(now: MonotonicTime) {
        if canTakeIn {
            blockedSince = nil
        } else if blockedSince == nil {
            blockedSince = now
        }
        let isBlocked = blockedSince.map { $0 + ShardLimits.blockedBeforePause <= now } ?? false
        updatePauses(isBlocked: isBlocked)
        if isBlocked, revocation == nil, let late = nextMessages() {
            // Fetched before the pause took effect: taken in, for it would not be delivered again.
            takeIn(late)
            updatePauses(isBlocked: true)
        }
    }

    // MARK: Stopping

    /// Stops fetching, lets what is in flight settle until the deadline, and commits. The shard stays a member of the group
    /// until it is told to ``leave()``: a broker may refuse the commits of all members while the group rebalances.
    func drain() -> EventLoopFuture<Void> {
        eventLoop.preconditionInEventLoop()
        if let drained { return drained.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        drained = promise
        state = .draining
        logger.info("draining", metadata: ["in-flight": .stringConvertible(inFlightCount)])
        beginDrain()
        return promise.futureResult
    }

    /// Everything has settled, or the time is over.
    func finishDrain() {
        state = .drained
        drained?.succeed()
    }

    /// Closes everything, whatever is still in flight. Idempotent.
    func leave() {
        eventLoop.preconditionInEventLoop()
        guard !isStopped else { return }
        state = .stopped
        ticking?.cancel()
        for sender in senders.senders {
            for lane in sender.lanes { lane.close() }
        }
        consumer.close(timeoutMilliseconds: ShardLimits.leaveTimeoutMilliseconds)
        reader?.close()
        producer.close(flushMilliseconds: ShardLimits.flushTimeoutMilliseconds)
        redis?.close()
        logger.info("stopped", metadata: counters.metadata(senders.senders.map(\.counters)))
    }

    var isDraining: Bool {
        switch state {
        case .draining, .drained: true
        case .running, .stopped: false
        }
    }

    var isStopped: Bool {
        if case .stopped = state { true } else { false }
    }

    /// Notifications handed to connections and not settled.
    var inFlightCount: Int {
        senders.senders.reduce(0) { $0 + $1.lanes.reduce(0) { $0 + $1.machine.inFlightCount } }
    }
}
