import Logging
import NIOCore
import NIOPosix
import RedisClient
import ServiceLifecycle

/// The registrar: registrations of push.registrations into the token state in Redis.
public struct RegistrarRole: Service {
    private let applier: ApplierRole
    private let decoder: RegistrationDecoder
    private let startCheck: RedisStartCheck

    /// - Throws: an error that names the key: configuration is wrong (exit code 78).
    public init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        applier = ApplierRole(
            configuration: configuration,
            redis: try configuration.redis.servers(name: "belfry-registrar"),
            clientID: "belfry-registrar",
            groupID: configuration.registrar.groupID,
            topic: TopicNames().registrations,
            batch: configuration.registrar.batch,
            logger: logger
        )
        startCheck = try RedisStartCheck(configuration.redis, logger: logger)
        decoder = RegistrationDecoder(
            environments: configuration.environments.map(\.name),
            tokenBytes: 32...(configuration.environments.map(\.tokenLimitBytes).max() ?? 32)
        )
    }

    /// Runs until a graceful shutdown, which finishes and commits the batch in hand.
    public func run() async throws {
        try await startCheck.run { try await register() }
    }

    private func register() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let running = try await applier.start(on: group.next()) { [decoder] message throws(RecordRefusal) in
            try decoder.changes(for: message)
        }
        try? await gracefulShutdown()
        try await running.eventLoop.flatSubmit { running.value.stop() }.get()
        try await group.shutdownGracefully()
    }
}
