import BelfrySupport
import Foundation
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics
import RedisClient
import ServiceLifecycle
import TokenState

/// The sender worker: as many shards as configured, each on a thread of its own, until it is told to stop.
public struct WorkerRole: Service {
    private let configuration: BelfryConfiguration
    private let settings: ShardSettings
    private let certificates: CertificateStore
    private let redis: RedisCluster.Configuration?
    private let durability: RedisDurabilityCheck?
    private let redisLog: RedisLog
    private let health = RoleHealth()
    private let logger: Logger

    /// The metrics and readiness of the role, for operators.
    public let operations: WorkerOperations

    /// Loads certificates and checks everything that needs no network.
    ///
    /// - Throws: an error that names the file or the key: configuration is wrong (exit code 78).
    public init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        redisLog = RedisLog(logger: logger)
        certificates = try CertificateStore(configuration)
        for fault in certificates.faults { logger.report(fault) }
        logger.report(locked: certificates.locked)
        try certificates.requireCertificate()
        settings = ShardSettings(
            configuration,
            unixMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) },
            randomBits: { .random(in: .min ... .max) }
        )
        redis = configuration.worker.tokenState ? try configuration.redis.servers(name: "belfry-worker") : nil
        durability = try Self.durability(configuration, logger: logger)
        operations = WorkerOperations(certificates: certificates, health: health)
        for environment in configuration.environments {
            let bundles = certificates.contexts(environment: environment.name).keys.sorted()
            logger.info(
                "certificates loaded",
                metadata: ["environment": "\(environment.name)", "topics": "\(bundles.joined(separator: ","))"]
            )
            if bundles.isEmpty {
                logger.warning(
                    "no certificate for this environment",
                    metadata: [
                        "environment": "\(environment.name)", "directory": "\(configuration.certificates.directory)",
                    ]
                )
            }
        }
    }

    /// The check of Redis. A worker that goes on without Redis also starts without it.
    private static func durability(_ configuration: BelfryConfiguration, logger: Logger) throws -> RedisDurabilityCheck?
    {
        guard configuration.worker.tokenState else { return nil }
        let redis = configuration.redis
        return try RedisDurabilityCheck(
            redis,
            patience: redis.whenAway == .send ? redis.awayAfter : nil,
            logger: logger
        )
    }

    /// Runs until a graceful shutdown, which drains, confirms, commits and leaves the group.
    ///
    /// - Throws: ``RoleFailure`` after the same, if a Kafka client failed permanently.
    public func run() async throws {
        try await certificates.readingAgain(logger: logger) {
            guard let durability else { return try await work() }
            try await durability.run { try await work() }
        }
    }

    private func work() async throws {
        let names = settings.names
        let counts = try await KafkaReadiness(configuration.kafka, logger: logger)
            .waitForTopics([names.requests, names.outcomes, names.deadLetters, names.tombstones])
        // On a thread that may block: those of tasks are few, and the operations endpoint needs them.
        let check = LogCheck(configuration, names, logger: logger)
        let retention = try await NIOThreadPool.singleton.runIfActive { try check.check() }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.worker.shards)
        let readers = Array(group.makeIterator())
        let follower =
            followsTombstones ? FollowerThread(settings, configuration, readers: readers, health, logger) : nil
        let filters = follower?.filters
        var shards: [NIOLoopBound<WorkerShard>] = []
        do {
            try await follower?.start(partitions: counts[3])
            for (number, eventLoop) in readers.enumerated() {
                shards.append(
                    try await eventLoop.submit {
                        try makeShard(number, filters: filters, on: eventLoop)
                    }.get()
                )
            }
        } catch {
            // Running shards must be stopped before they are released.
            try await stop(shards)
            try await follower?.stop()
            try await group.shutdownGracefully()
            throw error
        }
        operations.observe(shards, filters: filters, retention: retention)
        await health.untilStop()
        try await stop(shards)
        operations.observe([])
        health.forgetLoops()
        try await follower?.stop()
        try await group.shutdownGracefully()
        try health.check()
    }

    /// Stops the shards. All have committed before the first leaves, because leaving makes the group rebalance.
    private func stop(_ shards: [NIOLoopBound<WorkerShard>]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { drains in
            for shard in shards {
                drains.addTask { try await shard.eventLoop.flatSubmit { shard.value.drain() }.get() }
            }
            try await drains.waitForAll()
        }
        try await withThrowingTaskGroup(of: Void.self) { leavings in
            for shard in shards {
                leavings.addTask { try await shard.eventLoop.submit { shard.value.leave() }.get() }
            }
            try await leavings.waitForAll()
        }
    }

    /// Dead tokens are kept in memory.
    private var followsTombstones: Bool {
        configuration.worker.tokenState && configuration.worker.tombstoneFilter
    }

    private func makeShard(
        _ number: Int,
        filters: DeadTokenSets?,
        on eventLoop: any EventLoop
    ) throws -> NIOLoopBound<WorkerShard> {
        var logger = logger
        logger[metadataKey: "shard"] = .stringConvertible(number)
        let reports = KafkaReports(health: health, logger: logger)
        let clientID = "belfry-worker-\(number)"
        let producer = try KafkaProducer(properties: configuration.kafka.producerProperties(clientID: clientID))
        let consumer: KafkaConsumer
        do throws(KafkaError) {
            consumer = try KafkaConsumer(
                properties: configuration.kafka.consumerProperties(clientID: clientID),
                group: configuration.worker.groupID,
                topics: [settings.names.requests]
            )
        } catch {
            producer.close()
            throw error
        }
        let redis = redis.map { RedisCluster(configuration: $0, eventLoop: eventLoop) }
        let missing = MissingCertificates(
            redis: redis,
            grace: configuration.worker.certificateGrace,
            eventLoop: eventLoop,
            unixMilliseconds: settings.unixMilliseconds,
            logger: logger
        )
        let shard = WorkerShard(
            settings,
            number: number,
            eventLoop: eventLoop,
            clients: WorkerShard.Clients(
                consumer: consumer,
                producer: producer,
                redis: redis,
                connectors: TLSGatewayConnectors(
                    settings: settings,
                    certificates: certificates,
                    missing: missing,
                    eventLoop: eventLoop
                ),
                makeReader: { [kafka = configuration.kafka] () throws(KafkaError) in
                    let reader = try KafkaReader(
                        properties: kafka.readerProperties(clientID: "\(clientID)-catch-up", waitMilliseconds: 20)
                    )
                    reports.watch(reader, named: "catch-up reader")
                    return reader
                },
                filters: filters
            ),
            logger: logger
        )
        try shard.connect(consumer, producer, redis, reports, redisLog)
        shard.start()
        health.watch(eventLoop, as: "shard-\(number)")
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
        let report = redisLog.makeClient()
        redis?.onStateChange = { [unowned self] state in
            report(state)
            if case .connected = state { redisConnected() }
        }
        do throws(KafkaError) {
            try consumer.start(on: eventLoop) { [unowned self] in turn() }
            try producer.start(on: eventLoop) { [unowned producer] in producer.poll() }
        } catch {
            leave()
            throw error
        }
    }
}
