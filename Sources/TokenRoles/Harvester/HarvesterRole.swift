import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient
import ServiceLifecycle
import TLSTransport
import TokenState

/// The harvester: reads the feedback service into push.feedback, and applies what stands there to the token state.
///
/// The two halves meet in Kafka only, so that what was read survives whatever happens to the half that applies it.
public struct HarvesterRole: Service {
    private let configuration: BelfryConfiguration
    private let applier: ApplierRole
    private let sources: [FeedbackConnection.Source]
    private let durability: RedisDurabilityCheck
    private let health: RoleHealth
    private let logger: Logger

    /// Metrics and readiness of the role.
    public let operations: HarvesterOperations

    private static let readerID = "belfry-harvester-reader"
    /// The consumer group that applies tuples.
    private static let groupID = "belfry-harvester"
    private static let batch = 2_000

    /// - Throws: an error that names the file or key: configuration is wrong (exit code 78).
    public init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        health = RoleHealth()
        operations = HarvesterOperations(health: health)
        applier = ApplierRole(
            configuration: configuration,
            redis: try configuration.redis.servers(name: "belfry-harvester"),
            redisLog: RedisLog(logger: logger),
            clientID: "belfry-harvester",
            groupID: Self.groupID,
            topic: TopicNames().feedback,
            batch: Self.batch,
            health: health,
            logger: logger
        )
        durability = try RedisDurabilityCheck(configuration.redis, logger: logger)
        let certificates = try CertificateDirectory(path: configuration.certificates.directory)
        for fault in certificates.faults { logger.report(fault) }
        logger.report(locked: certificates.locked)
        var sources: [FeedbackConnection.Source] = []
        for environment in configuration.environments {
            guard let address = environment.feedback else { continue }
            for (bundleID, context) in try certificates.clientContexts(for: environment).sorted(by: { $0.key < $1.key })
            {
                sources.append(
                    .init(
                        environment: environment.name,
                        bundleID: bundleID,
                        address: address,
                        tls: context
                    )
                )
            }
        }
        self.sources = sources
        logger.info("feedback lists to read", metadata: ["topics": "\(sources.map(\.bundleID).joined(separator: ","))"])
    }

    /// Runs until a graceful shutdown, which lets a reading finish and commits the batch in hand.
    ///
    /// - Throws: ``RoleFailure`` after the same, if a Kafka client failed permanently.
    public func run() async throws {
        try await durability.run {
            try await RoleThread.run { try await harvest(on: $0) }
            try health.check()
        }
    }

    private func harvest(on thread: RoleThread) async throws {
        let eventLoop = thread.eventLoop
        let decoder = FeedbackTupleDecoder(environments: configuration.environments)
        let applying = try await applier.start(on: eventLoop) { message throws(RecordRefusal) in
            try decoder.changes(for: message)
        }
        thread.onFailure { applying.value.stop() }
        let running = try await eventLoop.submit { try start(applying.value, on: eventLoop) }.get()
        operations.observe(running)
        try await eventLoop.submit { health.watch(eventLoop, as: "harvester") }.get()
        await health.untilStop()
        try await eventLoop.flatSubmit { running.value.harvest.stop() }.get()
        operations.observe(nil)
        try await eventLoop.submit { running.value.close() }.get()
        try await eventLoop.flatSubmit { applying.value.stop() }.get()
        health.forgetLoops()
    }

    /// Both halves, with the clients of the reading one.
    struct Running {
        var harvest: FeedbackHarvest
        var applier: RecordApplier
        var producer: KafkaProducer
        var redis: RedisCluster

        func close() {
            producer.close()
            redis.close()
        }

        func report(now: MonotonicTime) -> HarvesterReport {
            HarvesterReport(
                lists: harvest.lists.map { $0.report(now: now) },
                retries: harvest.retries,
                applied: applier.counters,
                partitions: applier.partitions,
                isRedisReady: redis.isReady,
                isInGroup: applier.isInGroup
            )
        }
    }

    private func start(_ applier: RecordApplier, on eventLoop: any EventLoop) throws -> NIOLoopBound<Running> {
        // Everything that can fail comes before what has to be closed.
        let servers = try configuration.redis.servers(name: Self.readerID)
        let producer = try KafkaProducer(
            properties: configuration.kafka.feedbackProducerProperties(clientID: Self.readerID)
        )
        let redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        let harvest = FeedbackHarvest(
            eventLoop: eventLoop,
            sources: sources,
            producer: producer,
            redis: redis,
            broker: KafkaBrokerCheck(
                eventLoop: eventLoop,
                properties: configuration.kafka.adminProperties(clientID: Self.readerID),
                topic: TopicNames().feedback
            ),
            settings: configuration.harvester,
            logger: logger
        )
        producer.onDelivery = { [unowned harvest] number, error, _, _ in harvest.delivered(number, error: error) }
        KafkaReports(health: health, logger: logger).watch(producer, named: "producer of push.feedback")
        try producer.start(on: eventLoop, closing: redis)
        redis.start()
        harvest.start()
        return NIOLoopBound(
            Running(harvest: harvest, applier: applier, producer: producer, redis: redis),
            eventLoop: eventLoop
        )
    }
}
