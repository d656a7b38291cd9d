import BelfrySupport
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import RedisClient
import ServiceLifecycle
import Synchronization

/// Reads from Redis, before a role begins, by which layout tokens lie, and ends the role when that changes. The first
/// role of an installation makes the layout.
package final class TokenLayoutCheck: Sendable {
    private let servers: RedisCluster.Configuration
    /// The addresses to begin with, for the log; nil: ``RedisDurabilityCheck`` says that Redis is waited for.
    private let addresses: String?
    private let patience: Duration?
    private let interval: Duration
    private let health: RoleHealth
    private let report: @Sendable (RedisConnectionState) -> Void
    private let logger: Logger
    private let randomBits: @Sendable () -> UInt64
    private let told = Mutex<TokenLayout?>(nil)
    private let lateLayouts = AsyncStream<TokenLayout>.makeStream()

    /// - Parameters:
    ///   - patience: the longest wait of a role that can do without Redis; nil: it cannot.
    ///   - interval: the time between two looks; a server that comes back is looked at, too.
    ///   - report: takes the news of the connections; see ``RedisLog``.
    ///   - randomBits: 64 bits that cannot be guessed, for a new key; the system's by default.
    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    package init(
        _ context: RoleContext,
        patience: Duration? = nil,
        interval: Duration = .seconds(5),
        report: @escaping @Sendable (RedisConnectionState) -> Void,
        randomBits: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) throws {
        let redis = context.configuration.redis
        servers = try redis.servers(name: "belfry-places")
        addresses = redis.durability == .warn ? redis.place : nil
        self.patience = patience
        self.interval = interval
        health = context.health
        self.report = report
        logger = context.logger
        self.randomBits = randomBits
    }

    /// The layout while a role runs; nil: Redis did not tell it within the patience, and has not since. From any
    /// thread.
    package var layout: TokenLayout? { told.withLock { $0 } }

    /// The layout while a role runs that has no patience.
    package var knownLayout: TokenLayout {
        guard let layout else { preconditionFailure("who waits without limit is told the layout before it begins") }
        return layout
    }

    /// The layout that Redis tells after the patience; ends with the role. For one caller.
    package var late: AsyncStream<TokenLayout> { lateLayouts.stream }

    /// Runs `role`, for whose layout it waits while Redis is away. Once.
    ///
    /// - Throws: `ToolError.configuration` (exit code 78): the layout is not known to this version, or out of reach for
    ///   this user; `.notFound` (exit code 1): there are tokens and no layout; the errors of `role`.
    package func run(_ role: () async throws -> Void) async throws {
        defer { lateLayouts.continuation.finish() }
        let inquiry = try await begin()
        defer { inquiry.eventLoop.execute { inquiry.value.close() } }
        // Said beforehand: a server that swallows what it is sent is known to be away only after the time-out.
        if let addresses { logger.info("waiting for Redis", metadata: ["redis": "\(addresses)"]) }
        let layout = try await cancelWhenGracefulShutdown { try await self.firstLayout(of: inquiry) }
        if let layout { told.withLock { $0 = layout } }
        try await role()
    }

    private func begin() async throws -> NIOLoopBound<TokenLayoutInquiry> {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return try await eventLoop.submit { [self] in
            let inquiry = TokenLayoutInquiry(
                servers,
                new: TokenLayout(SipHash(low: randomBits(), high: randomBits())),
                eventLoop: eventLoop,
                logger: logger,
                report: report
            )
            inquiry.onLateLayout = { [self] layout in
                told.withLock { $0 = layout }
                lateLayouts.continuation.yield(layout)
            }
            inquiry.onFault = { [health] in health.fail("\($0)") }
            inquiry.start(every: TimeAmount(interval), patience: patience.map { TimeAmount($0) })
            return NIOLoopBound(inquiry, eventLoop: eventLoop)
        }.get()
    }

    private func firstLayout(of inquiry: NIOLoopBound<TokenLayoutInquiry>) async throws -> TokenLayout? {
        try await withTaskCancellationHandler {
            try await inquiry.eventLoop.flatSubmit { inquiry.value.firstLayout }.get()
        } onCancel: {
            inquiry.eventLoop.execute { inquiry.value.close() }
        }
    }
}
