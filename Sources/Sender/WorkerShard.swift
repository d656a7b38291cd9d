import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient
import TokenState

/// One event-loop thread of a worker: starts its stages, lets them take turns and time pass, and drains them.
///
///     Group ─▶ Intake ─▶ Lookup ─▶ Routing ─▶ Gateway ─▶ Outcomes ─▶ Group
///
/// Calls and data go downstream; results come back as events that the shard passes on. It owns no data of the stages.
/// Shards share nothing but the connection budget and the health of topics. Everything runs on `eventLoop`.
package final class WorkerShard {
    /// The clients of a shard.
    struct Clients {
        var consumer: any GroupConsumer
        var producer: any MessageProducer
        /// Nil when the worker runs without token state.
        var tokens: TokenTable?
        var connectors: any GatewayConnectors
        /// Makes the client that reads the log for lagging topics; called on first need.
        var makeReader: () throws(KafkaError) -> any PartitionReader
        /// The dead tokens, as published in push.tombstones; nil: not followed.
        var filters: DeadTokenSets?
        /// Nil: it is not watched that records lie in the partitions of their keys.
        var placement: KeyPlacement.Source?
        /// Of the Kafka topics that tell a fresh installation from one whose commits are gone.
        var partitionCounts = EarlierLife.PartitionCounts()
        /// A clock that goes on while the host is suspended; nil: the event loop's is one.
        var hostClock: (() -> MonotonicTime)?
        /// The levers of push.controls at the start.
        var controls = AppControls()

        var redis: (any RedisPipeline)? { tokens?.redis }
    }

    enum State {
        case running
        /// No more is taken from Kafka; notifications in flight settle.
        case draining
        /// Everything has settled, or the time is over, and is committed; still a member of the group.
        case drained
        case stopped
    }

    private(set) var settings: ShardSettings
    let eventLoop: any EventLoop
    let logger: Logger
    let stages: Stages
    let clients: Clients
    private(set) var state = State.running
    /// The shard cannot go on: the group has an assignment of it that it does not carry out.
    var onFailure: (KafkaError) -> Void = { _ in }
    private var drained: EventLoopPromise<Void>?
    private var ticking: RepeatingTimer?
    private var isTurning = false
    private var isTurnDue = false
    private var isWoken = false
    private var nextRetry: MonotonicTime
    /// The time since when nothing could be taken in; nil while something can.
    private var blockedSince: MonotonicTime?
    /// The time of the last tick, for measuring hold-ups of the event loop.
    private var lastTick: MonotonicTime
    /// The last tick left the lanes alone. The next one does not: otherwise a loop that is always slow would never
    /// settle.
    private var hasPassedOver = false
    private var ticks: UInt64 = 0
    /// Lateness of ticks: the work under way held everything else up as long.
    private(set) var tickLateness = Histogram.tickLateness

    /// - Parameter number: number of the shard in its process, from 0.
    init(_ settings: ShardSettings, number: Int, eventLoop: any EventLoop, clients: Clients, logger: Logger) {
        self.settings = settings
        self.eventLoop = eventLoop
        self.clients = clients
        self.logger = logger
        stages = Stages(settings, number: number, eventLoop: eventLoop, clients: clients, logger: logger)
        nextRetry = MonotonicTime(eventLoop.now)
        lastTick = nextRetry
        connectStages()
    }

    var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    /// Passes each stage's events to the other stages.
    private func connectStages() {
        stages.group.onEvent = { [unowned self] event in
            switch event {
            case .leaving(let feeds):
                stages.routing.forget(feeds)
                stages.gateway.stopSending(feeds)
                stages.outcomes.retry(now: now)
            case .over(let feeds):
                stages.routing.forget(feeds)
                stages.gateway.forget(feeds)
                stages.outcomes.forget(feeds)
                stages.lookup.dropOver()
                for feed in feeds { stages.catchUp.forget(feed.partition) }
            case .changed:
                stages.levers.partitionsChanged()
                wake()
            case .failed(let error):
                onFailure(error)
            }
        }
        stages.outcomes.onMoveRefused = { [unowned self] in stages.admission.returned.append(($0, $1)) }
        stages.commits.onAnswer = { [unowned self] in
            stages.gateway.hold(!stages.commits.maySend)
        }
        stages.lookup.onProgress = { [unowned self] in wake() }
        stages.lookup.onRedisAway = { [unowned self] in stages.redis.isAway = $0 }
        stages.lookup.publishAvailability()
        stages.coalescing.onProgress = { [unowned self] in wake() }
        stages.dueBadges.onReady = { [unowned self] in stages.routing.send($0) }
        stages.dueBadges.onProgress = { [unowned self] in wake() }
        stages.coalescing.backlog = Coalescing.Backlog { [unowned self] in
            stages.backlogEnd(of: $0)
        } position: { [unowned self] in
            stages.backlogPosition(of: $0, ticks: ticks)
        }
        stages.memory.onRemembered = { [unowned self] in
            stages.routing.remembered($0, of: $1, through: stages.intake.batchesMade)
        }
        stages.tombstones.onDead = { [unowned self] in stages.routing.refuse($0) }
        stages.tombstones.onWritten = { [unowned self] in
            stages.routing.tombstoneWritten($0, through: stages.intake.batchesMade)
        }
    }

    // MARK: Events of the clients

    func assign(_ partitions: [KafkaTopicPartition]) { stages.group.assign(partitions) }

    func revoke(_ partitions: [KafkaTopicPartition], lost: Bool) {
        stages.group.revoke(partitions, lost: lost) { stages.gateway.barriers() }
        stages.group.member.proceed()
    }

    /// The broker's report on a record of the producer.
    func delivered(_ number: UInt64, error: KafkaError?) {
        clients.producer.noteDelivery(number, error: error)
        if TombstonePublisher.isOwn(number) { return stages.publisher.delivered(number, error: error) }
        stages.outcomes.delivered(number, error: error)
    }

    /// A connection to Redis came up.
    func redisConnected() { stages.lookup.redisConnected() }

    /// Redis has told where tokens lie, later than the shard's start.
    func use(_ layout: TokenLayout) {
        guard !isStopped else { return }
        clients.tokens?.layout = layout
        stages.lookup.publishAvailability()
        if isRedisReady == true { redisConnected() }
    }

    /// Operators have set levers.
    func use(_ controls: AppControls) {
        guard !isStopped else { return }
        stages.levers.use(controls, now: now)
    }

    /// Settings were changed while the worker runs. Nothing in flight or waiting is lost or sent again for it.
    func use(_ changed: ShardSettings) {
        guard !isStopped else { return }
        settings = changed
        stages.use(changed)
        wake()
    }

    // MARK: Running

    func start() {
        eventLoop.preconditionInEventLoop()
        clients.redis?.start()
        ticking = eventLoop.repeating(after: ShardLimits.tick, every: ShardLimits.tick) { [unowned self] in onTick() }
    }

    /// Schedules a turn behind the other completions of a reply or report. One turn serves them all: Redis may give
    /// thousands of answers in one read.
    private func wake() {
        guard !isStopped, !isWoken else { return }
        isWoken = true
        eventLoop.assumeIsolated().execute {
            self.isWoken = false
            self.turnUnlessDue()
        }
    }

    /// A turn, unless one is due. The event loop does not look at its sockets between that one and others that come.
    func turnUnlessDue() {
        if !isTurnDue { turn() }
    }

    /// Takes ready records from Kafka and moves every stage on. Called when a client has something, and when a stage
    /// has room again.
    func turn() {
        // A client's callback can come from inside a call made here, and the last ones from closing clients: each
        // failed look-up would then be repeated, without end.
        guard !isTurning, !isStopped else { return }
        isTurning = true
        defer { isTurning = false }
        clients.producer.poll(timeoutMilliseconds: 0)
        if stages.group.member.isGivingBack || isDraining { stages.live.serveGroup(keepsMessages: !isDraining) }
        stages.beginTurn()
        stages.lookup.ask()
        moveOn()
        var batches = 0
        var work = 0
        var isMoreAtHand = false
        while canTakeBatch(lanes: ShardLimits.liveBatches), !isMoreAtHand {
            let read = stages.live.read(now: now)
            guard let workDone = read.work else { break }
            if let batch = read.batch { add(batch) }
            moveOn()
            batches += 1
            work += workDone
            isMoreAtHand = batches == ShardLimits.batchesPerTurn || work >= ShardLimits.bytesPerTurn
            // The stages are full most of the time when there is a backlog; only a standstill counts as blocked.
            blockedSince = nil
        }
        // After live batches, with room of their own: at least one batch in eight is of lagging topics.
        var hasRead = false
        if canTakeBatch(lanes: ShardLimits.preparedBatches) {
            let read = stages.catchUp.read(stages.group.active, now: now)
            if let batch = read.batch { add(batch) }
            hasRead = read.hasRead
        }
        moveOn()
        stages.gateway.pump(isMoreAtHand: isMoreAtHand)
        // Afterwards, for requests that only waited for room in the lanes.
        if stages.coalescing.release() { stages.gateway.pump(isMoreAtHand: isMoreAtHand) }
        stages.outcomes.beginTurn()
        if hasRead || isMoreAtHand || stages.isUnfinished { turnSoon() }
    }

    /// Asks for another turn after sockets and Redis got theirs. A turn that is due already serves all callers.
    private func turnSoon() {
        guard !isTurnDue else { return }
        isTurnDue = true
        clients.consumer.nextRound { [weak self] in
            self?.isTurnDue = false
            self?.turn()
        }
    }

    /// Passes batches with finished look-ups on to the lanes, as far as the turn's work goes.
    private func moveOn() {
        let held = stages.lookup.held
        while let route = nextRoute() {
            guard stages.routing.route(route) else { break }
            guard route.isInOrder else { continue }
            for (partition, offset) in route.batch.ends { partition.noteRouted(upTo: offset, tick: ticks) }
        }
        if stages.lookup.held != held { stages.updateFeeding(now: now) }
        guard stages.lookup.count == 0, stages.routing.unfinished == nil else { return }
        stages.routing.passed(upTo: stages.intake.batchesMade)
    }

    private func nextRoute() -> BatchRoute? {
        if let unfinished = stages.routing.takeUnfinished() { return unfinished }
        return stages.lookup.takeKnown().map { BatchRoute($0.batch, $0.rows, isInOrder: $0.isInOrder) }
    }

    /// There is room for another batch.
    private func canTakeBatch(lanes limit: Int) -> Bool {
        guard case .running = state, !stages.group.member.isGivingBack else { return false }
        return stages.lookup.countedBatches < limit && stages.outcomes.unacknowledged < ShardLimits.publications
    }

    private func add(_ batch: PreparedBatch) {
        if stages.intake.hasCoalescing {
            batch.ends = stages.group.active.compactMap { partition in
                partition.liveNext.map { (partition, $0) }
            }
        }
        stages.lookup.add(batch)
        stages.lookup.ask()
    }

    // MARK: Time

    private func onTick() {
        let now = now
        ticks += 1
        tickLateness.observe(max(.zero, lastTick.elapsed(until: now) - .nanoseconds(ShardLimits.tick.nanoseconds)))
        // Before anything is sent: the partitions may be another's.
        stages.gateway.hold(!stages.commits.mayGoOn())
        // After a hold-up an answer may lie unread in a socket, so that silence proves nothing yet; by the next tick
        // the event loop has looked.
        hasPassedOver = !hasPassedOver && lastTick + ShardLimits.holdUp <= now
        lastTick = now
        for event in stages.gateway.tick(now: now, isLate: hasPassedOver) { handle(event) }
        stages.lookAfterRefusals()
        stages.goOnWithoutRedis()
        stages.routing.expireProbes()
        stages.updateFeeding(now: now)
        stages.shareProbeRoom(now: now)
        stages.lookup.endLate(now: now)
        // Before the retries, which may take long.
        stages.commits.commitIfDue(Array(stages.group.assigned.values), now: now)
        stages.group.member.proceed()
        if nextRetry <= now {
            nextRetry = now + ShardLimits.retryInterval
            stages.retry(now: now)
        }
        if case .running = state { applyBackpressure(now: now) }
        turnUnlessDue()
    }

    private func handle(_ event: Gateway.Event) {
        switch event {
        case .topicIsQuiet(let topic):
            stages.outcomes.hurry(topic, now: now)
            // Recalled notifications that leave are the next owner's: they must not go meanwhile.
            if topic.flow.isRecalled, stages.group.isLeaving(topic) { return }
            guard let over = stages.group.rewind(topic) else { return }
            for feed in over { stages.gateway.giveUpWaiting(of: feed) }
            stages.routing.forget(over)
            stages.outcomes.forget(over)
            stages.lookup.dropOver()
            topic.flow.rewound()
        }
    }

    /// Keeps serving the group while there is no room: partitions are paused, so that polling brings events only.
    private func applyBackpressure(now: MonotonicTime) {
        if canTakeBatch(lanes: ShardLimits.liveBatches) {
            blockedSince = nil
        } else if blockedSince == nil {
            blockedSince = now
        }
        let isBlocked = blockedSince.map { $0 + ShardLimits.blockedBeforePause <= now } ?? false
        if isBlocked {
            stages.live.serveGroup(keepsMessages: true)
        } else if !stages.group.member.isGivingBack {
            stages.group.pause(false)
        }
    }

    // MARK: Stopping

    /// Stops fetching, lets notifications in flight settle until the deadline, and commits. The shard stays a member of
    /// the group until ``leave()``: a broker may refuse the commits of all members while the group rebalances.
    func drain() -> EventLoopFuture<Void> {
        eventLoop.preconditionInEventLoop()
        if let drained { return drained.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        drained = promise
        state = .draining
        logger.info("draining", metadata: ["in-flight": .stringConvertible(stages.gateway.inFlightCount)])
        stages.group.drain {
            let barriers = stages.gateway.barriers()
            stages.gateway.finish()
            return barriers
        } then: { [unowned self] in
            endDrain()
        }
        return promise.futureResult
    }

    private func endDrain() {
        guard state == .draining else { return }
        state = .drained
        drained?.succeed()
    }

    /// Closes everything, even with notifications in flight, and ends a drain. Idempotent.
    func leave() {
        eventLoop.preconditionInEventLoop()
        guard !isStopped else { return }
        endDrain()
        state = .stopped
        ticking?.cancel()
        stages.close()
        clients.consumer.close(timeoutMilliseconds: ShardLimits.leaveTimeoutMilliseconds)
        stages.catchUp.close()
        clients.producer.close(flushMilliseconds: ShardLimits.flushTimeoutMilliseconds)
        clients.redis?.close()
        logger.info("stopped", metadata: stages.counters.metadata(stages.gateway.all.map(\.counters)))
    }

    /// Redis is ready; nil without token state.
    var isRedisReady: Bool? { clients.redis?.isReady }

    var isDraining: Bool {
        switch state {
        case .draining, .drained: true
        case .running, .stopped: false
        }
    }

    var isStopped: Bool {
        if case .stopped = state { true } else { false }
    }
}
