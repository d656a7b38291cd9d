import Logging
import ServiceLifecycle

/// Runs a role until it ends or the process is told to stop.
public enum RoleRunner {
    /// Runs `role`; SIGTERM and SIGINT begin its graceful stop. Returns when it has stopped; throws what it throws.
    public static func run(_ role: any Service, logger: Logger) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: role, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        do {
            try await group.run()
        } catch is CancellationError {
            // Told to stop while it still waited for a server.
        }
    }
}
