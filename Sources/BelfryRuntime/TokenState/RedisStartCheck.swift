import Logging
import NIOCore
import NIOPosix
import RedisClient
import ServiceLifecycle

/// Looks, at the start of a role, whether the servers keep what they acknowledge.
struct RedisStartCheck: Sendable {
    private let servers: RedisCluster.Configuration
    private let policy: RedisDurabilityPolicy
    private let logger: Logger

    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    init(_ settings: RedisSettings, logger: Logger) throws {
        servers = try settings.servers(name: "belfry-check")
        policy = settings.durability
        self.logger = logger
    }

    /// Runs `role`. With `refuse` only after the check, for which it waits as long as Redis is away; with `warn` beside it.
    ///
    /// - Throws: `ToolError.configuration` (exit code 78) that names servers and settings; what `role` throws.
    func run(_ role: () async throws -> Void) async throws {
        guard policy == .warn else {
            try await cancelWhenGracefulShutdown { try await check() }
            return try await role()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Told to stop, it has nothing to say any more.
            group.addTask { try? await check() }
            defer { group.cancelAll() }
            try await role()
        }
    }

    /// Asks every master once.
    func check() async throws {
        let verdicts = try await verdicts()
        var refusals: [String] = []
        for (server, verdict) in verdicts {
            switch verdict {
            case .good:
                break
            case .bad(let faults):
                refusals.append("\(server): \(faults.joined(separator: "; "))")
                if policy == .warn {
                    logger.warning(
                        "Redis may lose what it has acknowledged",
                        metadata: ["redis": "\(server)", "settings": "\(faults.joined(separator: "; "))"]
                    )
                }
            case .unknown(let reason):
                logger.warning(
                    "it could not be checked whether Redis keeps what it acknowledges",
                    metadata: ["redis": "\(server)", "reason": "\(reason)"]
                )
            }
        }
        guard policy == .refuse, !refusals.isEmpty else { return }
        throw ToolError.configuration(
            "Redis may lose what it has acknowledged, which redis.durability refuses: "
                + refusals.joined(separator: ", ")
        )
    }

    private func verdicts() async throws -> [(RedisAddress, RedisDurability)] {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let inquiry = try await eventLoop.submit { [servers, logger] in
            NIOLoopBound(RedisInquiry(servers, eventLoop: eventLoop, logger: logger), eventLoop: eventLoop)
        }.get()
        return try await withTaskCancellationHandler {
            try await eventLoop.flatSubmit { inquiry.value.start() }.get()
        } onCancel: {
            eventLoop.execute { inquiry.value.cancel() }
        }
    }
}

/// One question to every master, once all are connected. Runs on its event loop.
private final class RedisInquiry {
    private let redis: RedisCluster
    private let promise: EventLoopPromise<[(RedisAddress, RedisDurability)]>
    private var isAsking = false
    private var isOver = false

    init(_ servers: RedisCluster.Configuration, eventLoop: any EventLoop, logger: Logger) {
        redis = RedisCluster(configuration: servers, eventLoop: eventLoop)
        promise = eventLoop.makePromise()
        redis.onStateChange = { [unowned self] state in
            switch state {
            case .connected: ask()
            case .disconnected(let cause):
                logger.debug("the check of Redis waits", metadata: ["reason": "\(cause)"])
            }
        }
    }

    func start() -> EventLoopFuture<[(RedisAddress, RedisDurability)]> {
        if !isOver { redis.start() }
        return promise.futureResult
    }

    func cancel() {
        finish(.failure(CancellationError()))
    }

    private func ask() {
        guard !isAsking, !isOver else { return }
        isAsking = true
        redis.info("persistence") { [weak self] persistence in
            self?.redis.info("memory") { [weak self] memory in
                guard let self, !isOver else { return }
                isAsking = false
                answered(persistence, memory)
            }
        }
    }

    private func answered(
        _ persistence: [(RedisAddress, Result<RedisInfo, RedisError>)],
        _ memory: [(RedisAddress, Result<RedisInfo, RedisError>)]
    ) {
        var verdicts: [(RedisAddress, RedisDurability)] = []
        for ((server, persistence), (_, memory)) in zip(persistence, memory) {
            do throws(RedisError) {
                verdicts.append((server, .init(persistence: try persistence.get(), memory: try memory.get())))
            } catch {
                // Lost in between: the next connection asks again. What the server refuses it will refuse again.
                guard case .server = error else { return }
                verdicts.append((server, .unknown("\(error)")))
            }
        }
        finish(.success(verdicts))
    }

    private func finish(_ result: Result<[(RedisAddress, RedisDurability)], any Error>) {
        guard !isOver else { return }
        isOver = true
        redis.onStateChange = nil
        // Not from within one of its own callbacks.
        redis.eventLoop.assumeIsolated().execute { [redis] in redis.close() }
        promise.completeWith(result)
    }
}
