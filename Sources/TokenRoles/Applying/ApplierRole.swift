import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics
import RedisClient
import TokenState

/// Runs a ``RecordApplier`` on a thread of its own.
struct ApplierRole: Sendable {
    var configuration: BelfryConfiguration
    var redis: RedisCluster.Configuration
    var redisLog: RedisLog
    var clientID: String
    var groupID: String
    var topic: String
    var batch: Int
    /// Changes are published to push.tombstones.
    var publishes = true
    var health: RoleHealth
    var logger: Logger

    /// Starts on `eventLoop`; returns what stops it.
    func start(
        on eventLoop: any EventLoop,
        decode: @escaping @Sendable (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]
    ) async throws -> NIOLoopBound<RecordApplier> {
        try await KafkaReadiness(configuration.kafka, logger: logger).waitForTopics([
            topic, TopicNames().tombstones, TopicNames().deadLetters,
        ])
        return try await eventLoop.submit {
            try make(on: eventLoop, decode: decode)
        }.get()
    }

    private func replay(_ servers: RedisCluster) -> RecordReplay? {
        let window = configuration.redis.replay
        guard window > .zero else { return nil }
        return RecordReplay(redis: servers, window: window, topic: topic, logger: logger)
    }

    private func make(
        on eventLoop: any EventLoop,
        decode: @escaping @Sendable (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]
    ) throws -> NIOLoopBound<RecordApplier> {
        let producer = try KafkaProducer(properties: configuration.kafka.producerProperties(clientID: clientID))
        let consumer: KafkaConsumer
        do throws(KafkaError) {
            consumer = try KafkaConsumer(
                properties: configuration.kafka.consumerProperties(clientID: clientID),
                group: groupID,
                topics: [topic]
            )
        } catch {
            producer.close()
            throw error
        }
        let servers = RedisCluster(configuration: redis, eventLoop: eventLoop)
        let clients = RecordApplier.Clients(consumer: consumer, producer: producer, redis: servers)
        let applier = RecordApplier(
            eventLoop: eventLoop,
            clients: clients,
            source: topic,
            names: TopicNames(),
            batchLimit: batch,
            logger: logger,
            replay: replay(servers),
            publishes: publishes,
            decode: decode
        )
        consumer.onAssigned = { [unowned applier] in applier.assign($0) }
        consumer.onRevoked = { [unowned applier] in applier.revoke($0, lost: $1) }
        producer.onDelivery = { [unowned applier] number, error, _, _ in applier.delivered(number, error: error) }
        let reports = KafkaReports(health: health, logger: logger)
        reports.watch(consumer)
        reports.watch(producer)
        servers.onStateChange = redisLog.makeClient()
        servers.start()
        try clients.closedOnFailure { () throws(KafkaError) in
            try consumer.start(on: eventLoop) { [unowned applier] in applier.turn() }
            try producer.start(on: eventLoop) { [unowned applier] in applier.turn() }
        }
        applier.start()
        return NIOLoopBound(applier, eventLoop: eventLoop)
    }
}
