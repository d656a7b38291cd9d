import BelfrySupport
import Foundation
import KafkaClient
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// The registrar: registrations of push.registrations into the token state in Redis, again what a fail-over lost of the
/// workers' tombstones, and the sweep of what is too old.
package struct RegistrarRole: Role {
    package static let name = "registrar"
    package static let summary =
        "Keep the token state in Redis: registrations and retention; runs until SIGTERM or SIGINT."

    private let context: RoleContext
    private let applier: ApplierSetup
    /// Applies push.tombstones; nil: nothing is applied again.
    private let keeper: ApplierSetup?
    private let decoder: RegistrationDecoder
    private let durability: RedisDurabilityCheck
    private let places: TokenLayoutCheck
    private let redisLog: RedisLog

    private static let sweepID = "belfry-registrar-sweep"

    package init(_ context: RoleContext) throws {
        self.context = context
        let configuration = context.configuration
        let registrar = configuration.registrar
        let (names, groups) = (TopicNames(configuration.kafka), GroupNames(configuration))
        redisLog = RedisLog(logger: context.logger)
        applier = try ApplierSetup(
            context,
            redisLog,
            clientID: "belfry-registrar",
            groupID: groups.registrar,
            topic: names.registrations,
            batch: registrar.batch
        )
        if configuration.redis.replay > .zero {
            keeper = try ApplierSetup(
                context,
                redisLog,
                clientID: "belfry-registrar-tombstones",
                groupID: groups.registrarTombstones,
                topic: names.tombstones,
                batch: registrar.batch,
                publishes: false,
                judgesTimes: false
            )
        } else {
            keeper = nil
        }
        durability = try RedisDurabilityCheck(configuration.redis, logger: context.logger)
        places = try TokenLayoutCheck(context, report: redisLog.makeClient())
        decoder = RegistrationDecoder(
            environments: configuration.environments.map(\.name),
            tokenBytes: 32...(configuration.environments.map(\.tokenLimitBytes).max() ?? 32)
        )
    }

    package func withChecks(_ work: () async throws -> Void) async throws {
        try await durability.run { try await places.run(work) }
    }

    package func start(on threads: RoleThreads, _ parts: inout [NIOLoopBound<Part>]) async throws {
        let layout = places.knownLayout
        let applying = try await applier.start(on: threads, layout) { [decoder] message throws(RecordRefusal) in
            try decoder.changes(for: message)
        }
        let tombstones = TombstoneDecoder(environments: context.configuration.environments.map(\.name))
        let keeping = try await keeper?.start(on: threads, layout) { message throws(RecordRefusal) in
            try tombstones.changes(for: message)
        }
        let eventLoop = threads.eventLoop
        let part = try await eventLoop.submit {
            let sweep = try makeSweep(on: eventLoop, applying.value.clients.clock)
            let part = Part(
                applier: applying.value,
                keeper: keeping?.value,
                sweep: sweep,
                timeCheck: Task { await checkTimes() }
            )
            return NIOLoopBound(part, eventLoop: eventLoop)
        }.get()
        parts.append(part)
    }

    /// Checks that the records of both topics have the broker's time.
    private func checkTimes() async {
        let witnesses = [applier.topic] + (keeper.map { [$0.topic] } ?? [])
        await RecordTimeCheck(witnesses, context.configuration.kafka, logger: context.logger).run()
    }

    package func use(_ configuration: BelfryConfiguration, _ parts: [NIOLoopBound<Part>]) async throws {
        let rate = configuration.retention.rate
        try await parts.tellEachLoop { $0.sweep?.sweep.use(rate: rate) }
    }

    /// Finishes and commits the batches in hand.
    package func close(_ parts: [NIOLoopBound<Part>]) async throws {
        try await parts.onEachLoop { $0.stop() }
    }

    package static func report(of part: Part) -> RegistrarReport { part.report() }

    package func metrics(_ reports: [RegistrarReport]) -> [MetricFamily] {
        RegistrarMetrics.table.families(of: reports)
    }

    package func describe(_ reports: [RegistrarReport], in status: inout RoleStatus) {
        for report in reports { report.describe(applier.topic, in: &status) }
    }

    /// A registrar is ready when it can apply what comes. That the group gave it no partition is no obstacle: there may
    /// be more registrars than partitions.
    package static func obstacles(_ reports: [RegistrarReport]) -> [Readiness.Obstacle] {
        Readiness.obstacles(
            of: name,
            isInGroup: reports.allSatisfy(\.isInGroup),
            isRedisReady: reports.allSatisfy(\.isRedisReady),
            clocks: reports.compactMap(\.clockObstacle)
        )
    }

    /// Everything that works on the thread.
    package struct Part {
        var applier: RecordApplier
        /// Applies push.tombstones; nil: nothing is applied again.
        var keeper: RecordApplier?
        /// Nil: nothing is ever swept.
        var sweep: Sweeping?
        /// Looks at the settings of Kafka topics, once.
        var timeCheck: Task<Void, Never>

        func stop() -> EventLoopFuture<Void> {
            let appliers = [applier, keeper].compactMap(\.self)
            let stops = appliers.map { $0.stop() } + [sweep].compactMap { $0?.stop(on: applier.eventLoop) }
            return .andAllSucceed(stops, on: applier.eventLoop).always { [timeCheck] _ in timeCheck.cancel() }
        }

        func report() -> RegistrarReport {
            RegistrarReport(
                applied: applier.counters,
                kept: keeper?.counters ?? .init(),
                pendingTombstones: applier.pendingTombstones,
                partitions: applier.partitions,
                isRedisReady: applier.isRedisReady && keeper?.isRedisReady ?? true,
                isInGroup: applier.isInGroup && keeper?.isInGroup ?? true,
                clockObstacle: applier.clockObstacle,
                sweep: sweep.map { .init(counters: $0.sweep.counters, hasLease: $0.sweep.hasLease) },
                serverTimes: [applier.serverTimes] + (keeper.map { [$0.serverTimes] } ?? [])
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

    private func makeSweep(on eventLoop: any EventLoop, _ clock: ClockCheck?) throws -> Sweeping? {
        let (configuration, logger) = (context.configuration, context.logger)
        guard configuration.retention.rule.isOn else { return nil }
        // Everything that can fail comes before what has to be closed.
        let servers = try configuration.redis.servers(name: Self.sweepID)
        let producer = try KafkaProducer(properties: configuration.kafka.producerProperties(clientID: Self.sweepID))
        let redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        let names = TopicNames(configuration.kafka)
        let tombstones = TombstonePublisher(producer: producer, topic: names.tombstones, logger: logger) {
            MonotonicTime(eventLoop.now)
        }
        let sweep = RetentionSweep(
            eventLoop: eventLoop,
            redis: redis,
            places: places.knownLayout,
            tombstones: tombstones,
            settings: configuration.retention,
            clock: clock,
            owner: UUID().uuidString,
            logger: logger
        )
        producer.onDelivery = { number, error, _, _ in tombstones.delivered(number, error: error) }
        KafkaReports(health: context.health, logger: logger).watch(producer, named: "producer of the sweep")
        redis.onStateChange = redisLog.makeClient()
        try producer.start(on: eventLoop, closing: redis)
        redis.start()
        sweep.start()
        return Sweeping(sweep: sweep, producer: producer, redis: redis)
    }
}
