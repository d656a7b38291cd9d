import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics
import TokenState

/// A worker's ``TombstoneFollower`` on a thread of its own.
final class FollowerThread {
    let filters: DeadTokenSets

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let kafka: KafkaSettings
    private let topic: String
    private let health: RoleHealth
    private let logger: Logger
    private var follower: NIOLoopBound<TombstoneFollower>?

    private static let clientID = "belfry-worker-tombstones"

    /// - Parameter readers: the event loops of the shards.
    init(
        _ settings: ShardSettings,
        _ configuration: BelfryConfiguration,
        readers: [any EventLoop],
        _ health: RoleHealth,
        _ logger: Logger
    ) {
        kafka = configuration.kafka
        self.health = health
        topic = settings.names.tombstones
        self.logger = logger
        filters = DeadTokenSets(
            maxAge: configuration.worker.filterMaxAge,
            memoryBytes: configuration.worker.filterMemoryBytes,
            writer: group.next(),
            readers: readers,
            logger: logger
        ) { environment, _ in
            // A bundle may get its certificate later.
            settings.environments[environment] != nil
        }
    }

    /// - Parameter partitions: the number of partitions of push.tombstones.
    func start(partitions: Int) async throws {
        let eventLoop = group.next()
        follower = try await eventLoop.submit { [kafka, topic, health, logger, filters] in
            // News comes for thousands of tokens at once, or for none.
            let reader = try KafkaReader(
                properties: kafka.readerProperties(clientID: Self.clientID, waitMilliseconds: 500)
            )
            KafkaReports(health: health, logger: logger).watch(reader, named: "reader of push.tombstones")
            let follower = TombstoneFollower(
                eventLoop: eventLoop,
                reader: reader,
                topic: topic,
                partitions: partitions,
                filters: filters,
                logger: logger
            )
            follower.start()
            health.watch(eventLoop, as: "tombstones")
            return NIOLoopBound(follower, eventLoop: eventLoop)
        }.get()
    }

    /// Stops the follower and its thread; called after the shards have stopped.
    func stop() async throws {
        if let follower {
            try await follower.eventLoop.submit { follower.value.stop() }.get()
        }
        try await group.shutdownGracefully()
    }
}
