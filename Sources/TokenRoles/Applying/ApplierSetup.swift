import BelfrySupport
import KafkaClient
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Starts a ``RecordApplier`` with its clients.
struct ApplierSetup: Sendable {
    /// The Kafka topic whose records are applied.
    let topic: String
    private let context: RoleContext
    private let redis: RedisCluster.Configuration
    private let redisLog: RedisLog
    private let clientID: String
    private let groupID: String
    private let batch: Int
    private let publishes: Bool
    private let judgesTimes: Bool

    private var names: TopicNames { TopicNames(context.configuration.kafka) }

    /// - Parameters:
    ///   - clientID: its name with Kafka and Redis.
    ///   - batch: most records of a batch.
    ///   - publishes: changes are published to push.tombstones.
    ///   - judgesTimes: records are judged by the host's clock.
    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    init(
        _ context: RoleContext,
        _ redisLog: RedisLog,
        clientID: String,
        groupID: String,
        topic: String,
        batch: Int,
        publishes: Bool = true,
        judgesTimes: Bool = true
    ) throws {
        redis = try context.configuration.redis.servers(name: clientID)
        self.context = context
        self.redisLog = redisLog
        self.clientID = clientID
        self.groupID = groupID
        self.topic = topic
        self.batch = batch
        self.publishes = publishes
        self.judgesTimes = judgesTimes
    }

    /// Starts an applier on the first of `threads`; it is stopped if the start fails further on.
    ///
    /// - Parameter layout: gives tokens their places in Redis.
    func start(
        on threads: RoleThreads,
        _ layout: TokenLayout,
        decode: @escaping @Sendable (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]
    ) async throws -> NIOLoopBound<RecordApplier> {
        try await KafkaReadiness(context.configuration.kafka, logger: context.logger).waitForTopics([
            topic, names.tombstones, names.deadLetters,
        ])
        let eventLoop = threads.eventLoop
        let applier = try await eventLoop.submit { try make(on: eventLoop, layout, decode: decode) }.get()
        threads.onFailure(on: eventLoop) { applier.value.stop() }
        return applier
    }

    private func replay(_ servers: RedisCluster) -> RecordReplay? {
        let window = context.configuration.redis.replay
        guard window > .zero else { return nil }
        return RecordReplay(redis: servers, window: window, topic: topic, logger: context.logger)
    }

    private func make(
        on eventLoop: any EventLoop,
        _ layout: TokenLayout,
        decode: @escaping @Sendable (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]
    ) throws -> NIOLoopBound<RecordApplier> {
        let kafka = try context.configuration.kafka.makeMember(clientID: clientID, group: groupID, topic: topic)
        let servers = RedisCluster(configuration: redis, eventLoop: eventLoop)
        let clock = { MonotonicTime(eventLoop.now) }
        let producer = TimedProducer(kafka.producer, clock: clock)
        let clients = RecordApplier.Clients(
            consumer: kafka.consumer,
            producer: producer,
            redis: TimedRedis(servers, clock: clock),
            layout: layout,
            clock: judgesTimes ? ClockCheck(redis: servers, eventLoop: eventLoop, logger: context.logger) : nil
        )
        let applier = RecordApplier(
            eventLoop: eventLoop,
            clients: clients,
            source: topic,
            names: names,
            batchLimit: batch,
            logger: context.logger,
            replay: replay(servers),
            publishes: publishes,
            decode: decode
        )
        kafka.consumer.onAssigned = { [unowned applier] in applier.assign($0) }
        kafka.consumer.onRevoked = { [unowned applier] in applier.revoke($0, lost: $1) }
        kafka.producer.onDelivery = { [unowned applier, unowned producer] number, error, _, _ in
            producer.noteDelivery(number, error: error)
            applier.delivered(number, error: error)
        }
        kafka.producer.onAppended = { [weak clock = clients.clock] in clock?.appended(atMilliseconds: $0) }
        let reports = KafkaReports(health: context.health, logger: context.logger)
        reports.watch(kafka.consumer)
        reports.watch(kafka.producer)
        servers.onStateChange = redisLog.makeClient()
        servers.start()
        try clients.closedOnFailure { () throws(KafkaError) in
            try kafka.consumer.start(on: eventLoop) { [unowned applier] in applier.turn() }
            try kafka.producer.start(on: eventLoop) { [unowned applier] in applier.turn() }
        }
        applier.start()
        return NIOLoopBound(applier, eventLoop: eventLoop)
    }
}
