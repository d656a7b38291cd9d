import BelfrySupport
import Foundation
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import ProviderCredentials
import PushTopics
import RedisClient
import RequestLanes
import ServiceLifecycle
import Synchronization
import TokenState

/// The sender worker: in each lane as many shards as configured, each on a thread of its own.
package final class WorkerRole: Role {
    package static let name = "worker"
    package static let summary = "Send what is published to push.requests; runs until SIGTERM or SIGINT, then drains."

    private let context: RoleContext
    private let settings: ShardSettings
    private let credentials: AppCredentials
    private let providerTokens: ProviderTokens
    private let redis: RedisCluster.Configuration?
    private let durability: RedisDurabilityCheck?
    private let places: TokenLayoutCheck?
    private let redisLog: RedisLog
    private let shared = Mutex(Shared())

    /// Found and made at the start, for all shards.
    private struct Shared {
        /// Keeps dead tokens in memory; nil: they are not kept.
        var follower: FollowerThread?
        /// Follows the levers of operators.
        var controls: ControlsThread?
        /// The shortest retention of the lanes' Kafka topics; nil: for ever, or not known.
        var retention: Duration?
        /// The topics that have names of their own in metrics.
        var labels = AppLabels()
        var records = RateMeter(now: MonotonicTime(.now()))
        /// Tells the shards where tokens lie, if Redis was away at their start, and of levers.
        var telling: [Task<Void, Never>] = []
    }

    package init(_ context: RoleContext) throws {
        self.context = context
        let (configuration, logger) = (context.configuration, context.logger)
        redisLog = RedisLog(logger: logger)
        credentials = AppCredentials(
            configuration,
            certificates: try CertificateStore(configuration),
            keys: try ProviderKeyStore(configuration)
        )
        providerTokens = ProviderTokens(keys: credentials.keys)
        logger.reportFaults(of: credentials)
        try credentials.requireAny()
        var settings = ShardSettings(
            configuration,
            unixMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) },
            randomBits: { .random(in: .min ... .max) }
        )
        settings.newSalt = { AppSalt(.random(in: 1 ... .max)) }
        self.settings = settings
        redis = configuration.worker.tokenState ? try configuration.redis.servers(name: "belfry-worker") : nil
        durability = try Self.durability(configuration, logger: logger)
        places = try Self.places(context, redisLog)
        logger.report(credentials, in: configuration.environments)
    }

    /// The check of Redis. A worker that goes on without Redis also starts without it.
    private static func durability(_ configuration: BelfryConfiguration, logger: Logger) throws -> RedisDurabilityCheck?
    {
        guard configuration.worker.tokenState else { return nil }
        return try RedisDurabilityCheck(configuration.redis, patience: patience(configuration), logger: logger)
    }

    private static func places(_ context: RoleContext, _ redisLog: RedisLog) throws -> TokenLayoutCheck? {
        guard context.configuration.worker.tokenState else { return nil }
        return try TokenLayoutCheck(
            context,
            patience: patience(context.configuration),
            report: redisLog.makeClient()
        )
    }

    /// The longest wait for Redis at the start; nil: as long as it takes.
    private static func patience(_ configuration: BelfryConfiguration) -> Duration? {
        configuration.redis.whenAway == .send ? configuration.redis.awayAfter : nil
    }

    package func withChecks(_ work: () async throws -> Void) async throws {
        try await credentials.readingAgain(logger: context.logger) {
            guard let durability, let places else { return try await work() }
            try await durability.run { try await places.run(work) }
        }
    }

    // MARK: Starting and stopping

    /// The loops of the followers, and those of the shards of all lanes that may be served.
    package var loops: [String] {
        ["controls"] + (followsTombstones ? ["tombstones"] : [])
            + seatsWanted.map { Self.name(ofShard: $0.number, in: $0.lane) }
    }

    /// The shards of all lanes that may be served, in the order of their loops; each lane numbers its own from 0.
    private var seatsWanted: [(lane: RequestLane, number: Int)] {
        let worker = context.configuration.worker
        return worker.lanes.flatMap { lane in (0..<worker.shards).map { (lane: lane, number: $0) } }
    }

    private static func name(ofShard number: Int, in lane: RequestLane) -> String {
        lane == .normal ? "shard-\(number)" : "\(lane)-\(number)"
    }

    /// Dead tokens are kept in memory.
    private var followsTombstones: Bool {
        let worker = context.configuration.worker
        return worker.tokenState && worker.tombstoneFilter
    }

    package func start(on threads: RoleThreads, _ shards: inout [NIOLoopBound<WorkerShard>]) async throws {
        let (names, configuration, logger) = (settings.names, context.configuration, context.logger)
        let (lanes, counts) = try await findLanes()
        // On a thread that may block: those of tasks are few, and the operations endpoint needs them.
        let check = LogCheck(configuration, lanes.map(names.requests), logger: logger)
        let retention = try await NIOThreadPool.singleton.runIfActive { try check.check() }
        shared.withLock { $0.retention = retention }
        let controls = try await ControlsThread(
            settings,
            context,
            partitions: counts[names.controls] ?? 1,
            on: threads.eventLoops[0]
        )
        shared.withLock { $0.controls = controls }
        var free = threads.eventLoops.dropFirst()
        let followerLoop = followsTombstones ? free.popFirst() : nil
        // The loops of lanes that are not served stay idle.
        let seats = zip(seatsWanted, free).map { ShardSeat(lane: $0.lane, number: $0.number, eventLoop: $1) }
            .filter { lanes.contains($0.lane) }
        var filters: DeadTokenSets?
        if let followerLoop {
            let follower = try await FollowerThread(
                settings,
                context,
                partitions: counts[names.tombstones] ?? 1,
                on: followerLoop,
                readers: seats.map(\.eventLoop)
            )
            shared.withLock { $0.follower = follower }
            filters = follower.filters
        }
        // Nothing is sent before all levers are known: a topic may be paused.
        logger.info("reading push.controls")
        let known = await cancelWhenGracefulShutdown { await controls.changes.first { _ in true } }
        guard let levers = known else { throw CancellationError() }
        for (number, seat) in seats.enumerated() {
            let settings = settings.serving(seat.lane, among: lanes)
            shards.append(
                try await seat.eventLoop.submit { [self, filters] in
                    // Before its clients are made: their threads have the same priority.
                    if !ThreadPriority.lower(by: seat.lane.niceness(among: lanes)) {
                        logger.info("a lane's threads have the first's priority", metadata: ["lane": "\(seat.lane)"])
                    }
                    return try makeShard(number, at: seat, settings, levers, filters: filters, partitions: counts)
                }.get()
            )
        }
        tell(shards, controls.changes) { $0.use($1) }
        if let places { tell(shards, places.late) { $0.use($1) } }
    }

    /// A shard among those of its lane.
    private struct ShardSeat: Sendable {
        var lane: RequestLane
        /// In its lane, from 0.
        var number: Int
        var eventLoop: any EventLoop
    }

    /// Waits for the Kafka topics.
    ///
    /// - Returns: the lanes to serve, and the numbers of partitions.
    private func findLanes() async throws -> (lanes: [RequestLane], partitions: [String: Int]) {
        let (names, worker) = (settings.names, context.configuration.worker)
        let counts = try await KafkaReadiness(context.configuration.kafka, logger: context.logger).waitForTopics(
            worker.neededLanes.map(names.requests)
                + [names.outcomes, names.deadLetters, names.tombstones, names.controls],
            others: worker.lanes.map(names.requests)
        )
        let lanes = names.lanes(in: counts)
        context.logger.info("serving lanes", metadata: ["lanes": "\(lanes.map(\.rawValue).joined(separator: ","))"])
        return (lanes, counts)
    }

    /// Hands each piece of news on to the shards, on their loops.
    private func tell<News: Sendable>(
        _ shards: [NIOLoopBound<WorkerShard>],
        _ stream: AsyncStream<News>,
        _ body: @escaping @Sendable (WorkerShard, News) -> Void
    ) {
        let telling = Task {
            for await news in stream { try? await shards.tellEachLoop { body($0, news) } }
        }
        shared.withLock { $0.telling.append(telling) }
    }

    package func use(_ configuration: BelfryConfiguration, _ shards: [NIOLoopBound<WorkerShard>]) async throws {
        settings.useShared(configuration.worker)
        try await shards.tellEachLoop { $0.use($0.settings.changed(to: configuration)) }
    }

    /// The drain's own limit, and what closing takes.
    package static func stopLimit(_ configuration: BelfryConfiguration) -> Duration {
        configuration.worker.stopTimeout + .seconds(25)
    }

    /// Lets notifications in flight settle, commits, and leaves the group. All have committed before the first leaves,
    /// because leaving makes the group rebalance.
    package func drain(_ shards: [NIOLoopBound<WorkerShard>]) async throws {
        let telling = shared.withLock { $0.telling }
        for task in telling { task.cancel() }
        for task in telling { await task.value }
        try await shards.onEachLoop { $0.drain() }
        try await shards.tellEachLoop { $0.leave() }
    }

    package func close(_ shards: [NIOLoopBound<WorkerShard>]) async throws {
        let (follower, controls) = shared.withLock { shared in
            defer { shared = Shared() }
            return (shared.follower, shared.controls)
        }
        try await controls?.stop()
        try await follower?.stop()
    }

    // MARK: Telling

    package static func report(of shard: WorkerShard) -> ShardReport { shard.report() }

    package func metrics(_ reports: [ShardReport]) -> [MetricFamily] {
        WorkerMetrics.table.families(of: [makeReport(reports)])
    }

    package func describe(_ reports: [ShardReport], in status: inout RoleStatus) {
        let report = makeReport(reports)
        let records = reports.reduce(0) { $0 + $1.counters.records }
        let rate = shared.withLock { $0.records.rate(count: records, now: MonotonicTime(.now())) }
        let environments = context.configuration.environments
        report.describe(rate, settings: environments, names: settings.names, in: &status)
    }

    private func makeReport(_ reports: [ShardReport]) -> WorkerReport {
        let topics = reports.flatMap(\.topics)
        let (filters, controls, retention, labels) = shared.withLock { shared in
            shared.labels.choose(topics)
            return (shared.follower?.filters, shared.controls, shared.retention, shared.labels)
        }
        return WorkerReport(
            shards: reports,
            certificates: credentials.certificates.certificates,
            providerTokens: providerTokens.reports,
            filter: filters.map { Self.report(of: $0) },
            levers: controls?.report(now: MonotonicTime(.now())),
            connectionBudget: settings.connectionBudget.state(now: MonotonicTime(.now())),
            retention: retention,
            unixMilliseconds: settings.unixMilliseconds(),
            labels: labels
        )
    }

    private static func report(of filters: DeadTokenSets) -> WorkerReport.Filter {
        let now = MonotonicTime(.now())
        return .init(
            age: filters.completeSince.map { $0.elapsed(until: now) },
            entries: filters.count,
            bytes: filters.bytes,
            givenUp: filters.givenUp
        )
    }

    /// A worker is ready when every shard has joined the group and has its token state.
    package static func obstacles(_ reports: [ShardReport]) -> [Readiness.Obstacle] {
        var obstacles: [Readiness.Obstacle] = []
        for (number, report) in reports.enumerated() {
            if report.isDraining { obstacles.append(.init(.process, "shard \(number) drains")) }
            if !report.hasJoined { obstacles.append(.init(.kafka, "shard \(number) waits for its partitions")) }
            if report.isTokenStateReady == false { obstacles.append(.init(.redis, "shard \(number) waits for Redis")) }
            if let obstacle = report.missingCommits(ofShard: number) { obstacles.append(obstacle) }
        }
        return obstacles
    }

    // MARK: Making shards

    /// - Parameter number: among the shards of the process.
    private func makeShard(
        _ number: Int,
        at seat: ShardSeat,
        _ settings: ShardSettings,
        _ levers: AppControls,
        filters: DeadTokenSets?,
        partitions: [String: Int]
    ) throws -> NIOLoopBound<WorkerShard> {
        let (kafka, eventLoop) = (settings.configuration.kafka, seat.eventLoop)
        var logger = context.logger
        logger[metadataKey: "shard"] = .stringConvertible(number)
        if seat.lane != .normal { logger[metadataKey: "lane"] = .string(seat.lane.rawValue) }
        let reports = KafkaReports(health: context.health, logger: logger)
        let clientID = "belfry-worker\(seat.lane.suffix)-\(seat.number)"
        let member = try kafka.makeMember(clientID: clientID, group: settings.group, topic: settings.names.requests)
        let requests = Int32(partitions[settings.names.requests] ?? 0)
        let redis = redis.map { RedisCluster(configuration: $0, eventLoop: eventLoop) }
        let clock = { MonotonicTime(eventLoop.now) }
        let tokens = redis.map { TokenTable(TimedRedis($0, clock: clock), places?.layout) }
        let missing = MissingCertificates(
            tokens: tokens,
            grace: context.configuration.worker.certificateGrace,
            eventLoop: eventLoop,
            unixMilliseconds: settings.unixMilliseconds,
            logger: logger
        )
        let shard = WorkerShard(
            settings,
            number: number,
            eventLoop: eventLoop,
            clients: WorkerShard.Clients(
                consumer: member.consumer,
                producer: TimedProducer(member.producer, clock: clock),
                tokens: tokens,
                connectors: TLSGatewayConnectors(
                    settings: settings,
                    credentials: credentials,
                    providerTokens: providerTokens,
                    missing: missing,
                    eventLoop: eventLoop
                ),
                makeReader: { () throws(KafkaError) in
                    let reader = try KafkaReader(
                        properties: kafka.readerProperties(clientID: "\(clientID)-catch-up", waitMilliseconds: 20)
                    )
                    reports.watch(reader, named: "catch-up reader")
                    return reader
                },
                filters: filters,
                placement: KeyPlacement.Source(
                    partitionCount: requests,
                    ask: PartitionCountQuestion(kafka, settings.names, logger: logger).ask(on: eventLoop)
                ),
                partitionCounts: EarlierLife.PartitionCounts(
                    requests: requests,
                    outcomes: Int32(partitions[settings.names.outcomes] ?? 0)
                ),
                hostClock: MonotonicTime.throughSuspension,
                controls: levers
            ),
            logger: logger
        )
        try shard.connect(member.consumer, member.producer, redis, reports, redisLog)
        shard.start()
        return NIOLoopBound(shard, eventLoop: eventLoop)
    }
}

extension WorkerShard {
    /// Connects the clients to the shard: they call it when something can be taken, and for events.
    ///
    /// If one of them cannot be started the shard has stopped, and all of them are closed.
    func connect(
        _ consumer: KafkaConsumer,
        _ producer: KafkaProducer,
        _ redis: RedisCluster?,
        _ reports: KafkaReports,
        _ redisLog: RedisLog
    ) throws {
        consumer.onAssigned = { [unowned self] in assign($0) }
        consumer.onRevoked = { [unowned self] in revoke($0, lost: $1) }
        producer.onDelivery = { [unowned self] number, error, _, _ in delivered(number, error: error) }
        reports.watch(consumer)
        reports.watch(producer)
        onFailure = { reports.fail($0, of: "consumer") }
        let report = redisLog.makeClient()
        redis?.onStateChange = { [unowned self] state in
            report(state)
            if case .connected = state { redisConnected() }
        }
        do throws(KafkaError) {
            try consumer.start(on: eventLoop) { [unowned self] in turnUnlessDue() }
            try producer.start(on: eventLoop) { [unowned producer] in producer.poll() }
        } catch {
            leave()
            throw error
        }
    }
}
