import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import ProviderCredentials
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// The harvester: reads the feedback service into push.feedback, and applies what stands there to the token state.
///
/// The two halves meet in Kafka only, so that what was read survives every failure of the half that applies it.
package struct HarvesterRole: Role {
    package static let name = "harvester"
    package static let summary = "Read the feedback service into push.feedback; runs until SIGTERM or SIGINT."

    private let context: RoleContext
    private let applier: ApplierSetup
    private let sources: FeedbackSources
    private let durability: RedisDurabilityCheck
    private let places: TokenLayoutCheck

    private static let readerID = "belfry-harvester-reader"
    private static let batch = 2_000

    package init(_ context: RoleContext) throws {
        self.context = context
        let (configuration, logger) = (context.configuration, context.logger)
        let redisLog = RedisLog(logger: logger)
        applier = try ApplierSetup(
            context,
            redisLog,
            clientID: "belfry-harvester",
            groupID: GroupNames(configuration).harvester,
            topic: TopicNames(configuration.kafka).feedback,
            batch: Self.batch
        )
        durability = try RedisDurabilityCheck(configuration.redis, logger: logger)
        places = try TokenLayoutCheck(context, report: redisLog.makeClient())
        sources = try FeedbackSources(configuration)
        sources.report(to: logger)
        let bundleIDs = sources.lists().map(\.bundleID).joined(separator: ",")
        logger.info("feedback lists to read", metadata: ["apps": "\(bundleIDs)"])
    }

    package func withChecks(_ work: () async throws -> Void) async throws {
        try await sources.readingAgain(logger: context.logger) {
            try await durability.run { try await places.run(work) }
        }
    }

    package func start(on threads: RoleThreads, _ parts: inout [NIOLoopBound<Part>]) async throws {
        let decoder = FeedbackTupleDecoder(environments: context.configuration.environments)
        let applying = try await applier.start(on: threads, places.knownLayout) { message throws(RecordRefusal) in
            try decoder.changes(for: message)
        }
        let eventLoop = threads.eventLoop
        parts.append(try await eventLoop.submit { try startReading(beside: applying.value, on: eventLoop) }.get())
    }

    package func use(_ configuration: BelfryConfiguration, _ parts: [NIOLoopBound<Part>]) async throws {
        let interval = configuration.harvester.interval
        try await parts.tellEachLoop { $0.harvest.use(interval: interval) }
    }

    /// The limit of the readings, and what closing takes.
    package static func stopLimit(_ configuration: BelfryConfiguration) -> Duration { .seconds(70) }

    /// Lets readings under way end.
    package func drain(_ parts: [NIOLoopBound<Part>]) async throws {
        try await parts.onEachLoop { $0.harvest.stop() }
    }

    /// Finishes and commits the batches in hand.
    package func close(_ parts: [NIOLoopBound<Part>]) async throws {
        try await parts.onEachLoop { $0.close() }
    }

    package static func report(of part: Part) -> HarvesterReport { part.report(now: .init(.now())) }

    package func metrics(_ reports: [HarvesterReport]) -> [MetricFamily] {
        HarvesterMetrics.table.families(of: reports)
    }

    package func describe(_ reports: [HarvesterReport], in status: inout RoleStatus) {
        for report in reports { report.describe(applier.topic, in: &status) }
    }

    /// A harvester is ready when it can have leases and apply tuples. That a list cannot be read is no reason to start
    /// it again.
    package static func obstacles(_ reports: [HarvesterReport]) -> [Readiness.Obstacle] {
        Readiness.obstacles(
            of: name,
            isInGroup: reports.allSatisfy(\.isInGroup),
            isRedisReady: reports.allSatisfy(\.isRedisReady),
            clocks: reports.compactMap(\.clockObstacle)
        )
    }

    /// Both halves, with the clients of the reading one.
    package struct Part {
        var harvest: FeedbackHarvest
        var applier: RecordApplier
        var producer: KafkaProducer
        var redis: RedisCluster

        func close() -> EventLoopFuture<Void> {
            harvest.close()
            producer.close()
            redis.close()
            return applier.stop()
        }

        func report(now: MonotonicTime) -> HarvesterReport {
            HarvesterReport(
                lists: harvest.lists.map { $0.report(now: now) },
                retries: harvest.retries,
                applied: applier.counters,
                partitions: applier.partitions,
                isRedisReady: redis.isReady,
                isInGroup: applier.isInGroup,
                clockObstacle: applier.clockObstacle,
                serverTimes: [applier.serverTimes]
            )
        }
    }

    private func startReading(beside applier: RecordApplier, on eventLoop: any EventLoop) throws -> NIOLoopBound<Part> {
        let kafka = context.configuration.kafka
        // Everything that can fail comes before what has to be closed.
        let servers = try context.configuration.redis.servers(name: Self.readerID)
        let producer = try KafkaProducer(properties: kafka.feedbackProducerProperties(clientID: Self.readerID))
        let redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        let harvest = FeedbackHarvest(
            eventLoop: eventLoop,
            sources: sources,
            producer: producer,
            redis: redis,
            clock: applier.clients.clock,
            broker: KafkaBrokerCheck(
                eventLoop: eventLoop,
                properties: kafka.adminProperties(clientID: Self.readerID),
                topic: self.applier.topic,
                logger: context.logger
            ),
            topic: self.applier.topic,
            settings: context.configuration.harvester,
            logger: context.logger
        )
        producer.onDelivery = { [unowned harvest] number, error, _, _ in harvest.delivered(number, error: error) }
        KafkaReports(health: context.health, logger: context.logger).watch(producer, named: "producer of push.feedback")
        try producer.start(on: eventLoop, closing: redis)
        redis.start()
        harvest.start()
        return NIOLoopBound(
            Part(harvest: harvest, applier: applier, producer: producer, redis: redis),
            eventLoop: eventLoop
        )
    }
}
