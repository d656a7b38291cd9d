import KafkaClient
import Logging
import NIOCore
import NIOPosix
import RedisClient
import ServiceLifecycle
import TLSTransport

/// The harvester: reads the feedback service into push.feedback, and applies what stands there to the token state.
///
/// The two halves meet in Kafka only, so that what was read survives whatever happens to the half that applies it.
public struct HarvesterRole: Service {
    private let configuration: BelfryConfiguration
    private let applier: ApplierRole
    private let sources: [FeedbackReader.Source]
    private let logger: Logger

    /// The consumer group that applies tuples.
    private static let groupID = "belfry-harvester"
    private static let batch = 512

    /// - Throws: an error that names the file or key: configuration is wrong (exit code 78).
    public init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        applier = ApplierRole(
            configuration: configuration,
            redis: try configuration.redis.connection(name: "belfry-harvester"),
            clientID: "belfry-harvester",
            groupID: Self.groupID,
            topic: TopicNames().feedback,
            batch: Self.batch,
            logger: logger
        )
        let certificates = try CertificateDirectory(path: configuration.certificates.directory)
        var sources: [FeedbackReader.Source] = []
        for environment in configuration.environments {
            guard let address = environment.feedback else { continue }
            for (bundleID, context) in try certificates.clientContexts(for: environment).sorted(by: { $0.key < $1.key })
            {
                sources.append(
                    .init(
                        environment: environment.name,
                        bundleID: bundleID,
                        address: address,
                        tls: context,
                        connectTimeout: TimeAmount(configuration.harvester.connectTimeout)
                    )
                )
            }
        }
        self.sources = sources
        logger.info("feedback lists to read", metadata: ["topics": "\(sources.map(\.bundleID).joined(separator: ","))"])
    }

    /// Runs until a graceful shutdown, which lets a reading finish and commits the batch in hand.
    public func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        let decoder = FeedbackTupleDecoder()
        let applying = try await applier.start(on: eventLoop) { message throws(RecordRefusal) in
            try decoder.change(for: message)
        }
        let harvest = try await eventLoop.submit { try makeHarvest(on: eventLoop) }.get()
        try? await gracefulShutdown()
        try await harvest.eventLoop.flatSubmit { harvest.value.harvest.stop() }.get()
        try await harvest.eventLoop.submit { harvest.value.close() }.get()
        try await applying.eventLoop.flatSubmit { applying.value.stop() }.get()
        try await group.shutdownGracefully()
    }

    /// The reading half with its clients.
    private struct Running {
        var harvest: FeedbackHarvest
        var producer: KafkaProducer
        var redis: RedisConnection

        func close() {
            producer.close()
            redis.close()
        }
    }

    private func makeHarvest(on eventLoop: any EventLoop) throws -> NIOLoopBound<Running> {
        let producer = try KafkaProducer(
            properties: configuration.kafka.producerProperties(clientID: "belfry-harvester-reader")
        )
        let redis = RedisConnection(
            configuration: try configuration.redis.connection(name: "belfry-harvester-reader"),
            eventLoop: eventLoop
        )
        let harvest = FeedbackHarvest(
            eventLoop: eventLoop,
            sources: sources,
            producer: producer,
            redis: redis,
            settings: configuration.harvester,
            logger: logger
        )
        producer.onDelivery = { [unowned harvest] number, error, _, _ in harvest.delivered(number, error: error) }
        let logger = logger
        producer.onError = { logger.reportProducer($0) }
        try producer.start(on: eventLoop) { [unowned producer] in producer.poll() }
        redis.start()
        harvest.start()
        return NIOLoopBound(Running(harvest: harvest, producer: producer, redis: redis), eventLoop: eventLoop)
    }
}
