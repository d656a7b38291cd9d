import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import PushTopics
import TokenState

/// The stages of a shard, each made with those behind it, and the rules that involve several stages.
///
/// Bound to the shard's event loop.
final class Stages {
    let group: Group
    let placement: KeyPlacement?
    let commits: Commits
    let admission: RecordAdmission
    let catchUp: CatchUpReader
    let retention: Retention
    let live: LiveReader
    let levers: AppLevers
    let intake: Intake
    let lookup: Lookup
    let routing: Routing
    let coalescing: Coalescing
    let dueBadges: DueBadges
    let gateway: Gateway
    let outcomes: Outcomes
    let memory: RequestMemory
    let badgeReturns: BadgeReturns
    let tombstones: TombstoneWriter
    let publisher: TombstonePublisher
    let redis = RedisAvailability()
    /// The topics whose connections are kept open though nothing is to be sent.
    var warmTopics: [Topic] = []

    private let connectors: any GatewayConnectors
    private var probeRoom = ProbeRoom()

    init(
        _ settings: ShardSettings,
        number: Int,
        eventLoop: any EventLoop,
        clients: WorkerShard.Clients,
        logger: Logger
    ) {
        connectors = clients.connectors
        let clock = { MonotonicTime(eventLoop.now) }
        let hostClock = clients.hostClock ?? clock
        let feeds = FeedTable()
        let controls = ShardControls(clients.controls, in: settings.lane)
        let memoryBudget = ShardMemory(settings.memory)
        let tokens = clients.tokens
        publisher = TombstonePublisher(
            producer: clients.producer,
            topic: settings.names.tombstones,
            logger: logger,
            clock: clock
        )
        badgeReturns = BadgeReturns(
            tokens: tokens,
            feeds: feeds,
            availability: redis,
            eventLoop: eventLoop,
            logger: logger
        )
        outcomes = Outcomes(
            settings: settings,
            feeds: feeds,
            badges: badgeReturns,
            producer: clients.producer,
            logger: logger,
            clock: clock
        )
        memory = RequestMemory(
            tokens: tokens,
            settings: settings,
            feeds: feeds,
            outcomes: outcomes,
            availability: redis,
            eventLoop: eventLoop,
            logger: logger
        )
        tombstones = TombstoneWriter(
            tokens: tokens,
            publisher: publisher,
            filters: clients.filters,
            memory: memoryBudget,
            availability: redis,
            eventLoop: eventLoop,
            unixMilliseconds: settings.unixMilliseconds,
            logger: logger
        )
        let gateway = Gateway(
            settings: settings,
            shard: number,
            connectors: clients.connectors,
            outcomes: outcomes,
            memory: memory,
            tombstones: tombstones,
            budget: memoryBudget,
            logger: logger,
            clock: clock
        )
        self.gateway = gateway
        dueBadges = DueBadges(
            tokens: tokens,
            feeds: feeds,
            outcomes: outcomes,
            availability: redis,
            eventLoop: eventLoop,
            logger: logger
        )
        coalescing = Coalescing(
            settings: settings,
            tokens: tokens,
            feeds: feeds,
            outcomes: outcomes,
            memory: memory,
            badges: dueBadges,
            availability: redis,
            eventLoop: eventLoop,
            logger: logger,
            lanes: gateway.lanes(ofTopic:)
        )
        routing = Routing(
            settings: settings,
            feeds: feeds,
            outcomes: outcomes,
            gateway: gateway,
            coalescing: coalescing,
            badges: dueBadges
        )
        lookup = Lookup(
            tokens: tokens,
            filters: clients.filters,
            patience: settings.redisPatience,
            routing: routing,
            logger: logger,
            clock: clock
        )
        intake = Intake(
            outcomes: outcomes,
            lane: settings.lane,
            requestsTopic: settings.names.requests,
            remembersRequests: settings.dedupeWindow > .zero,
            movesFrom: settings.movesFrom,
            unixMilliseconds: settings.unixMilliseconds
        )
        commits = Commits(
            consumer: clients.consumer,
            patience: settings.commitPatience,
            metadataBytes: settings.metadataBytes,
            logger: logger,
            clock: clock,
            hostClock: hostClock
        )
        gateway.maySend = { [commits] in commits.maySend }
        outcomes.maySend = { [commits] in commits.maySend }
        gateway.stoodStill = { [commits] in commits.stoodStill }
        let directory = AppDirectory(
            settings.topicLimits,
            environments: settings.environmentNames,
            hasCertificate: { [connectors = clients.connectors] environment, bundleID in
                connectors.hasCertificate(environment: environment, bundleID: bundleID)
            },
            isOnDefaultKey: { [connectors = clients.connectors] environment, bundleID in
                let credential = connectors.credential(environment: environment, bundleID: bundleID, for: .alert)
                guard case .key? = credential else { return false }
                return !gateway.settings.isNamed(bundleID: bundleID)
            },
            make: { [filters = clients.filters, connectors = clients.connectors] index, environment, bundleID in
                let settings = gateway.settings
                let topic = settings.makeTopic(index, environment: environment, bundleID: bundleID, filters: filters)
                topic.control = controls[topic.name]
                topic.unsendable = connectors.unsendable(environment: environment, bundleID: bundleID)
                return topic
            }
        )
        let earlierLife = EarlierLife(
            consumer: clients.consumer,
            redis: clients.redis,
            settings: settings,
            counts: clients.partitionCounts,
            logger: logger
        )
        commits.onStored = earlierLife.stored
        group = Group(
            consumer: clients.consumer,
            earlierLife: earlierLife,
            settings: settings,
            directory: directory,
            feeds: feeds,
            memory: memoryBudget,
            commits: commits,
            logger: logger,
            clock: clock
        )
        placement = clients.placement.map { source in
            KeyPlacement(source, unixMilliseconds: settings.unixMilliseconds, logger: logger, clock: clock)
        }
        levers = AppLevers(controls, group: group, gateway: gateway, placement: placement, logger: logger)
        admission = RecordAdmission(
            directory: directory,
            placement: placement,
            intake: intake,
            memory: memoryBudget,
            maxUncommitted: settings.maxUncommitted
        )
        admission.updateQuota = { [levers] in levers.updateQuota(of: $0, now: clock()) }
        catchUp = CatchUpReader(admission: admission, intake: intake, logger: logger, makeReader: clients.makeReader)
        retention = Retention(consumer: clients.consumer, catchUp: catchUp, logger: logger)
        live = LiveReader(
            consumer: clients.consumer,
            group: group,
            admission: admission,
            intake: intake,
            retention: retention,
            batchRecords: settings.batchRecords,
            logger: logger
        )
    }

    /// Lets every stage decide by other settings from now on.
    func use(_ changed: ShardSettings) {
        for account in group.directory.accounts {
            if let topic = account.topic { changed.update(topic) }
        }
        group.memory.use(changed.memory)
        group.use(changed)
        admission.maxUncommitted = changed.maxUncommitted
        outcomes.use(changed)
        gateway.use(changed)
    }

    // MARK: Turns

    /// Lets stages work that do a slice in each turn of the event loop.
    func beginTurn() {
        lookup.beginTurn()
        routing.beginTurn()
    }

    /// Stages have work for the next turn.
    var isUnfinished: Bool {
        routing.unfinished != nil || lookup.isUnfinished || coalescing.isUnfinished || outcomes.isReady
    }

    /// Does what time and other servers' answers may allow by now. Called once a ``ShardLimits/retryInterval``.
    func retry(now: MonotonicTime) {
        outcomes.retry(now: now)
        publisher.retry()
        group.member.askAgain()
        group.lookAtStanding(now: now)
        retention.mend(group.assigned)
        lookup.ask()
        lookAfterCertificates(now: now)
        keepWarm()
        lookAfterPlacement()
        unpin(now: now)
    }

    // MARK: Rules of several stages

    /// The topic's bundle has a certificate now.
    func hasCertificate(_ topic: Topic) -> Bool {
        connectors.hasCertificate(environment: topic.environment, bundleID: topic.bundleID)
    }

    /// Looks at the credentials of a topic.
    ///
    /// - Returns: there is one.
    private func lookAtCredentials(of topic: Topic) -> Bool {
        topic.unsendable = connectors.unsendable(environment: topic.environment, bundleID: topic.bundleID)
        return hasCertificate(topic)
    }

    /// Sets the feeding of each topic, by its levers, its certificate and its health at the gateway.
    func updateFeeding(now: MonotonicTime) {
        let generation = connectors.generation
        for account in group.directory.accounts {
            guard let topic = account.topic else { continue }
            levers.setPace(of: account, now: now)
            topic.flow.lookAtCertificate(of: generation) { lookAtCredentials(of: topic) }
            topic.flow.feed(
                topic.health.state,
                waitsForTokenState: lookup.holds(topic),
                isGivenUp: { connectors.isGivenUp(environment: topic.environment, bundleID: topic.bundleID) },
                givesWay: probeRoom.givingWay == topic.index
            )
            if gateway.isIdleProber(topic), !group.hasWork(topic) { gateway.endProbe(of: topic) }
        }
    }

    /// Counts the bytes of topics that are only probed, and lets one give way while they leave no room.
    func shareProbeRoom(now: MonotonicTime) {
        let accounts = group.directory.accounts
        group.memory.setProbed(accounts.reduce(0) { $0 + ($1.isProbed ? $1.bytes : 0) })
        let next = probeRoom.share(isFull: !group.memory.budget.admitsProbe, now: now) {
            accounts.filter(\.isProbed).compactMap { account in
                account.topic.map {
                    ProbeRoom.Probed(
                        topic: $0.index,
                        bytes: account.bytes,
                        isHeld: $0.flow.sending == .held,
                        hasWork: group.hasWork($0)
                    )
                }
            }
        }
        if let next { accounts[Int(next)].topic?.flow.giveWay() }
    }

    /// Lets time pass for bundles that wait for a certificate, and makes room for others as certificates come.
    private func lookAfterCertificates(now: MonotonicTime) {
        connectors.tick(now: now)
        group.lookAfterUncertified(now: now)
    }

    /// Asks for the number of partitions, if records seem to lie in wrong ones.
    private func lookAfterPlacement() {
        placement?.askIfDue { [directory = group.directory] index in
            directory.accounts.indices.contains(Int(index)) ? directory.accounts[Int(index)].topic : nil
        }
    }

    /// Acts on refusals of tokens: new ones, and those that are believed by now or never will be.
    func lookAfterRefusals() {
        for refused in tombstones.takeFresh() { routing.refuse(refused) }
        for (refused, isBelieved) in tombstones.takeSettled() {
            guard isBelieved else {
                routing.forgive(refused)
                continue
            }
            // Silent since it was refused, unless it has registered since: then it is not to be silenced once more, and
            // the tombstone gives way to the registration.
            tombstones.write(refused)
        }
    }

    /// Copies records held for long out of their fetch buffers, as many as a tick may.
    private func unpin(now: MonotonicTime) {
        let age = min(now.nanoseconds, gateway.settings.pinnedFor.wholeNanoseconds)
        let before = MonotonicTime(nanoseconds: now.nanoseconds - age)
        var room = ShardLimits.copiedPerTick
        for partition in group.active {
            for feed in partition.feeds.values { feed.unpinSources(takenBefore: before, room: &room) }
        }
    }

    /// The end of a feed's backlog; nil: there is none. Newer requests may come before it.
    func backlogEnd(of feed: AppFeed) -> UInt64? {
        if let gap = feed.ledger.gap {
            return feed.account.feeding == .all ? UInt64(max(0, gap.last + 1)) : nil
        }
        guard !feed.partition.isPaused, let end = group.watermarks(of: feed.partition)?.high else { return nil }
        return UInt64(max(0, end))
    }

    /// The position up to which the backlog of a feed was routed.
    func backlogPosition(of feed: AppFeed, ticks: UInt64) -> UInt64 {
        let partition = feed.partition
        // While no more is taken in, nothing newer can come.
        guard !partition.isPaused else { return .max }
        guard feed.ledger.isLive else { return admission.goesOn(feed) ? 0 : .max }
        guard lookup.count == 0, routing.unfinished == nil else { return UInt64(max(0, partition.routedLive)) }
        let isAtRest = !live.hasLeftovers && partition.movedAt + ShardLimits.backlogStandstillTicks <= ticks
        return isAtRest ? .max : UInt64(max(0, partition.liveNext ?? 0))
    }

    /// Goes on with what waits for Redis while sending goes on without it.
    func goOnWithoutRedis() {
        memory.settleWithoutRedis()
        badgeReturns.endWithoutRedis()
        dueBadges.goOnWithoutRedis()
    }

    func close() {
        redis.isClosed = true
        lookup.close()
        gateway.close()
    }

    var counters: WorkerCounters {
        var all = WorkerCounters()
        all.records = intake.counters.records
        all.undecodable = intake.counters.undecodable
        all.notifications = intake.counters.notifications
        all.sent = gateway.sent
        all.sentWithoutState = gateway.sentWithoutState
        all.lookUps = lookup.counters.lookUps
        all.unreadableStates = lookup.counters.unreadable
        all.deadLetters = outcomes.counters.deadLetters
        all.cut = outcomes.cut
        all.commits = commits.count
        all.recordsLost = retention.recordsLost
        all.offsetsBeyondEnd = retention.offsetsBeyondEnd
        all.corruptFetches = live.corruptFetches.count + catchUp.corruptFetches.count
        all.outcomes = outcomes.counters.outcomes
        return all
    }
}
