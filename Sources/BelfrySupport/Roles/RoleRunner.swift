import Logging
import ServiceLifecycle

/// Runs a role until it ends or the process is told to stop.
public enum RoleRunner {
    /// Runs `role`; SIGTERM and SIGINT begin its graceful stop. Returns when it has stopped; throws what it throws.
    ///
    /// A second signal ends the process at once with exit code 1.
    ///
    /// - Parameter operations: answers those who operate the role, from before its start until after its stop.
    public static func run(_ role: any Service, operations: OperationsEndpoint? = nil, logger: Logger) async throws {
        // Stopped in the opposite order of their start.
        let endpoint = operations.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: (endpoint.map { [$0] } ?? [])
                    + [.init(service: role, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        let secondSignal = SecondSignal()
        defer { withExtendedLifetime(secondSignal) {} }
        do {
            try await group.run()
        } catch is CancellationError {
            // Told to stop while it still waited for a server.
        }
    }
}
