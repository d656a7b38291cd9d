import BelfrySupport
import Logging
import NIOCore
import NIOPosix
import RedisClient
import ServiceLifecycle

/// Checks that the servers keep acknowledged data, at the start of a role and while it runs. Checked while it runs: a
/// server that comes back with another history of its data, or takes over from another. Later findings are only logged
/// as warnings: a role that gives up in mid-run helps none of the apps.
package struct RedisDurabilityCheck: Sendable {
    private let servers: RedisCluster.Configuration
    /// The addresses to begin with, for the log.
    private let addresses: String
    private let policy: RedisDurabilityPolicy
    private let patience: Duration?
    private let logger: Logger

    /// - Parameter patience: with `refuse`, the longest wait of a role that can do without Redis; nil: it cannot.
    /// - Throws: an error that names the file: a certificate or the trust roots cannot be loaded.
    package init(_ settings: RedisSettings, patience: Duration? = nil, logger: Logger) throws {
        servers = try settings.servers(name: "belfry-check")
        addresses = settings.place
        policy = settings.durability
        self.patience = patience
        self.logger = logger
    }

    /// Runs `role`. With `refuse`, only after a first look at all masters, for which it waits while Redis is away, and
    /// tells so; with `warn`, the look runs beside it.
    ///
    /// - Throws: `ToolError.configuration` (exit code 78) that names servers and settings; the errors of `role`.
    package func run(_ role: () async throws -> Void) async throws {
        let inquiry = try await begin()
        defer { inquiry.eventLoop.execute { inquiry.value.close() } }
        if policy == .refuse {
            // Said beforehand: a server that swallows what it is sent is known to be away only after the time-out.
            logger.info("waiting for Redis", metadata: ["redis": "\(addresses)"])
            try await cancelWhenGracefulShutdown { try await refuse(firstVerdicts(of: inquiry)) }
        }
        try await role()
    }

    private func begin() async throws -> NIOLoopBound<DurabilityInquiry> {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return try await eventLoop.submit { [servers, policy, patience, logger] in
            let refuses = policy == .refuse
            let inquiry = DurabilityInquiry(servers, eventLoop: eventLoop, isAwaited: refuses, logger: logger) {
                server,
                verdict,
                isFirst in
                // The refusal reports it.
                if refuses, isFirst, !verdict.faults.isEmpty { return }
                logger.report(verdict, of: server)
            }
            inquiry.start(patience: refuses ? patience.map { TimeAmount($0) } : nil)
            return NIOLoopBound(inquiry, eventLoop: eventLoop)
        }.get()
    }

    private func firstVerdicts(
        of inquiry: NIOLoopBound<DurabilityInquiry>
    ) async throws -> [(RedisAddress, RedisDurability)] {
        try await withTaskCancellationHandler {
            try await inquiry.eventLoop.flatSubmit { inquiry.value.firstVerdicts }.get()
        } onCancel: {
            inquiry.eventLoop.execute { inquiry.value.close() }
        }
    }

    private func refuse(_ verdicts: [(RedisAddress, RedisDurability)]) throws {
        let refusals = verdicts.compactMap { server, verdict -> String? in
            verdict.faults.isEmpty ? nil : "\(server): \(verdict.faults.joined(separator: "; "))"
        }
        guard !refusals.isEmpty else { return }
        throw ToolError.configuration(
            "Redis may lose what it has acknowledged, which redis.durability refuses (warn: only warns of it): "
                + refusals.joined(separator: ", ")
        )
    }
}

extension Logger {
    fileprivate func report(_ verdict: RedisDurability, of server: RedisAddress) {
        if !verdict.faults.isEmpty {
            warning(
                "Redis may lose what it has acknowledged",
                metadata: ["redis": "\(server)", "settings": "\(verdict.faults.joined(separator: "; "))"]
            )
        }
        if !verdict.troubles.isEmpty {
            warning(
                "Redis has trouble with its files",
                metadata: ["redis": "\(server)", "troubles": "\(verdict.troubles.joined(separator: "; "))"]
            )
        }
        if !verdict.unknown.isEmpty {
            log(
                level: verdict.isKnownButForCONFIG ? .notice : .warning,
                "it could not be checked whether Redis keeps what it acknowledges",
                metadata: ["redis": "\(server)", "unknown": "\(verdict.unknown.joined(separator: ", "))"]
            )
        }
    }
}
