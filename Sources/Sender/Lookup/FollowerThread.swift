import BelfrySupport
import KafkaClient
import NIOCore
import PushTopics
import TokenState

/// A worker's ``TombstoneFollower``, on a thread of its own.
struct FollowerThread: Sendable {
    let filters: DeadTokenSets
    private let follower: NIOLoopBound<TombstoneFollower>

    private static let clientID = "belfry-worker-tombstones"

    /// Starts it on `eventLoop`.
    ///
    /// - Parameters:
    ///   - partitions: the number of partitions of push.tombstones.
    ///   - readers: the event loops of the shards.
    init(
        _ settings: ShardSettings,
        _ context: RoleContext,
        partitions: Int,
        on eventLoop: any EventLoop,
        readers: [any EventLoop]
    ) async throws {
        let (configuration, logger) = (context.configuration, context.logger)
        let filters = DeadTokenSets(
            maxAge: configuration.worker.filterMaxAge,
            memoryBytes: configuration.worker.filterMemoryBytes,
            writer: eventLoop,
            readers: readers,
            logger: logger
        ) { environment, _ in
            // A bundle may get its certificate later.
            settings.environments[environment] != nil
        }
        self.filters = filters
        follower = try await eventLoop.submit {
            // News comes for thousands of tokens at once, or for none.
            let reader = try KafkaReader(
                properties: configuration.kafka.readerProperties(clientID: Self.clientID, waitMilliseconds: 500)
            )
            KafkaReports(health: context.health, logger: logger).watch(reader, named: "reader of push.tombstones")
            let follower = TombstoneFollower(
                eventLoop: eventLoop,
                reader: reader,
                topic: settings.names.tombstones,
                partitions: partitions,
                filters: filters,
                logger: logger
            )
            follower.start()
            return NIOLoopBound(follower, eventLoop: eventLoop)
        }.get()
    }

    /// Stops the follower; called after the shards have stopped.
    func stop() async throws {
        try await follower.eventLoop.submit { follower.value.stop() }.get()
    }
}
