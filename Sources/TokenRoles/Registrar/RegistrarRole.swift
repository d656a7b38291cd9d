import BelfrySupport
import Foundation
import KafkaClient
import Logging
import NIOCore
import PushTopics
import RedisClient
import ServiceLifecycle
import TokenState

/// The registrar: registrations of push.registrations into the token state in Redis, again what a fail-over lost of the
/// workers' tombstones, and the sweep of what is too old.
public struct RegistrarRole: Service {
    private let configuration: BelfryConfiguration
    private let applier: ApplierRole
    /// Applies push.tombstones; nil: nothing is applied again.
    private let keeper: ApplierRole?
    private let decoder: RegistrationDecoder
    private let durability: RedisDurabilityCheck
    private let redisLog: RedisLog
    private let health: RoleHealth
    private let logger: Logger

    /// Metrics and readiness of the role.
    public let operations: RegistrarOperations

    private static let sweepID = "belfry-registrar-sweep"
    private static let keeperID = "belfry-registrar-tombstones"

    /// - Throws: an error that names the key: configuration is wrong (exit code 78).
    public init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        redisLog = RedisLog(logger: logger)
        let health = RoleHealth()
        self.health = health
        operations = RegistrarOperations(health: health)
        applier = ApplierRole(
            configuration: configuration,
            redis: try configuration.redis.servers(name: "belfry-registrar"),
            redisLog: redisLog,
            clientID: "belfry-registrar",
            groupID: configuration.registrar.groupID,
            topic: TopicNames().registrations,
            batch: configuration.registrar.batch,
            health: health,
            logger: logger
        )
        keeper = try Self.keeper(configuration, redisLog, health, logger: logger)
        durability = try RedisDurabilityCheck(configuration.redis, logger: logger)
        decoder = RegistrationDecoder(
            environments: configuration.environments.map(\.name),
            tokenBytes: 32...(configuration.environments.map(\.tokenLimitBytes).max() ?? 32)
        )
    }

    private static func keeper(
        _ configuration: BelfryConfiguration,
        _ redisLog: RedisLog,
        _ health: RoleHealth,
        logger: Logger
    ) throws -> ApplierRole? {
        guard configuration.redis.replay > .zero else { return nil }
        return ApplierRole(
            configuration: configuration,
            redis: try configuration.redis.servers(name: keeperID),
            redisLog: redisLog,
            clientID: keeperID,
            groupID: configuration.registrar.groupID + "-tombstones",
            topic: TopicNames().tombstones,
            batch: configuration.registrar.batch,
            publishes: false,
            health: health,
            logger: logger
        )
    }

    /// Runs until a graceful shutdown, which finishes and commits the batch in hand.
    ///
    /// - Throws: ``RoleFailure`` after the same, if a Kafka client failed permanently.
    public func run() async throws {
        try await durability.run {
            try await RoleThread.run { try await register(on: $0) }
            try health.check()
        }
    }

    private func register(on thread: RoleThread) async throws {
        let eventLoop = thread.eventLoop
        let applying = try await applier.start(on: eventLoop) { [decoder] message throws(RecordRefusal) in
            try decoder.changes(for: message)
        }
        thread.onFailure { applying.value.stop() }
        let tombstones = TombstoneDecoder(environments: configuration.environments.map(\.name))
        let keeping = try await keeper?.start(on: eventLoop) { message throws(RecordRefusal) in
            try tombstones.changes(for: message)
        }
        if let keeping { thread.onFailure { keeping.value.stop() } }
        let running = try await eventLoop.submit {
            NIOLoopBound(
                Running(applier: applying.value, keeper: keeping?.value, sweep: try makeSweep(on: eventLoop)),
                eventLoop: eventLoop
            )
        }.get()
        operations.observe(running)
        try await eventLoop.submit { health.watch(eventLoop, as: "registrar") }.get()
        let witnesses = [applier.topic] + (keeper.map { [$0.topic] } ?? [])
        let check = Task { await RecordTimeCheck(witnesses, configuration.kafka, logger: logger).run() }
        defer { check.cancel() }
        await health.untilStop()
        operations.observe(nil)
        try await eventLoop.flatSubmit { running.value.stop() }.get()
        health.forgetLoops()
    }

    /// The parts that work on the thread.
    struct Running {
        var applier: RecordApplier
        /// Applies push.tombstones; nil: nothing is applied again.
        var keeper: RecordApplier?
        /// Nil: nothing is ever swept.
        var sweep: Sweeping?

        func stop() -> EventLoopFuture<Void> {
            let appliers = [applier, keeper].compactMap(\.self)
            let stops = appliers.map { $0.stop() } + [sweep].compactMap { $0?.stop(on: applier.eventLoop) }
            return .andAllSucceed(stops, on: applier.eventLoop)
        }

        func report() -> RegistrarReport {
            RegistrarReport(
                applied: applier.counters,
                kept: keeper?.counters ?? .init(),
                pendingTombstones: applier.pendingTombstones,
                partitions: applier.partitions,
                isRedisReady: applier.isRedisReady && keeper?.isRedisReady ?? true,
                isInGroup: applier.isInGroup && keeper?.isInGroup ?? true,
                sweep: sweep.map { .init(counters: $0.sweep.counters, hasLease: $0.sweep.hasLease) }
            )
        }
    }

    /// The sweep with its clients, which are its own: it is slow, and registrations do not wait for it.
    struct Sweeping {
        var sweep: RetentionSweep
        var producer: KafkaProducer
        var redis: RedisCluster

        /// Succeeds when the lease is given back, as far as Redis can be told.
        func stop(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
            let promise = eventLoop.makePromise(of: Void.self)
            sweep.stop { promise.succeed() }
            return promise.futureResult.assumeIsolated().map {
                producer.close()
                redis.close()
            }.nonisolated()
        }
    }

    private func makeSweep(on eventLoop: any EventLoop) throws -> Sweeping? {
        guard configuration.retention.rule.isOn else { return nil }
        // Everything that can fail comes before what has to be closed.
        let servers = try configuration.redis.servers(name: Self.sweepID)
        let producer = try KafkaProducer(properties: configuration.kafka.producerProperties(clientID: Self.sweepID))
        let redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        let tombstones = TombstonePublisher(producer: producer, topic: TopicNames().tombstones, logger: logger)
        let sweep = RetentionSweep(
            eventLoop: eventLoop,
            redis: redis,
            tombstones: tombstones,
            settings: configuration.retention,
            owner: UUID().uuidString,
            logger: logger
        )
        producer.onDelivery = { number, error, _, _ in tombstones.delivered(number, error: error) }
        KafkaReports(health: health, logger: logger).watch(producer, named: "producer of the sweep")
        redis.onStateChange = redisLog.makeClient()
        try producer.start(on: eventLoop, closing: redis)
        redis.start()
        sweep.start()
        return Sweeping(sweep: sweep, producer: producer, redis: redis)
    }
}
