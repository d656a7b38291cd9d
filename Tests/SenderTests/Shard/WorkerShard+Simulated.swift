import BelfrySupport
import Logging
import NIOCore
import NIOEmbedded
import PipelineCore
import PushTopics
import RequestLanes
import TokenState

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

extension WorkerShard {
    /// A shard of nothing but what is given. Its owner starts it and lets it leave.
    ///
    /// - Parameter lane: the one that its worker serves.
    static func scripted(
        _ group: SimulatedMember,
        configuration: BelfryConfiguration = BelfryConfiguration(),
        lane: RequestLane = .normal,
        producer: CollectingProducer = CollectingProducer(),
        redis: (any RedisPipeline)? = nil,
        layout: TokenLayout? = TokenStore.layout,
        filters: DeadTokenSets? = nil,
        gateways: (any GatewayConnectors)? = nil,
        reader: SimulatedTopic = SimulatedTopic("push.requests", partitions: 8),
        placement: KeyPlacement.Source? = nil,
        partitionCounts: EarlierLife.PartitionCounts = EarlierLife.PartitionCounts(requests: 4, outcomes: 1),
        hostClock: (() -> MonotonicTime)? = nil,
        limits: AppLimits = AppLimits(),
        unixMilliseconds: @escaping @Sendable () -> Int64 = { 0 },
        salt: AppSalt = .none,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        on eventLoop: EmbeddedEventLoop
    ) -> WorkerShard {
        var settings = ShardSettings(configuration, unixMilliseconds: unixMilliseconds, randomBits: { 35 })
        if lane != .normal { settings = settings.serving(lane, among: [lane]) }
        settings.newSalt = { salt }
        settings.topicLimits = limits
        let shard = WorkerShard(
            settings,
            number: 0,
            eventLoop: eventLoop,
            clients: Clients(
                consumer: group,
                producer: producer,
                tokens: redis.map { TokenTable($0, layout) },
                connectors: gateways ?? MemoryGateway(eventLoop),
                makeReader: { reader },
                filters: filters,
                placement: placement,
                partitionCounts: partitionCounts,
                hostClock: hostClock
            ),
            logger: logger
        )
        producer.onDelivery = { [unowned shard] in shard.delivered($0, error: nil) }
        return shard
    }

    /// Makes a topic in the one environment that is configured, as its first request does.
    @discardableResult
    func addTopic(_ bundleID: String) throws -> Topic {
        try Array(bundleID.utf8).withUnsafeBytes { key in
            let nameless = UnsafeRawBufferPointer(start: nil, count: 0)
            let found = try stages.group.directory.find(key: key, environment: nameless, salt: .none)
            guard let topic = found.account.topic else { preconditionFailure("the bundle is followed by itself") }
            return topic
        }
    }
}
