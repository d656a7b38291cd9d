import Logging
import ServiceLifecycle

/// Runs a role, or another service, until it ends or the process is told to stop.
public enum RoleRunner {
    /// Runs a role as configured, with the endpoint for its operators if there is to be one. SIGHUP lets it read its
    /// configuration again.
    ///
    /// - Parameters:
    ///   - inspection: of its configuration, which is sound.
    ///   - reload: asks for another reading, during the start already.
    ///   - read: reads the configuration as it was read for `inspection`.
    /// - Throws: an error that names the file or the key: configuration is wrong (exit code 78); an error that kept the
    ///   role from its start, ``RoleFailure`` if it could not go on, ``OperationsPortError`` (exit code 1).
    package static func run<R: Role>(
        _ type: R.Type,
        _ inspection: ConfigurationInspection,
        reload: ReloadSignal,
        read: @escaping ReloadDesk.Read
    ) async throws {
        FreedMemory.keepLargeBlocksApart()
        let returns = Task { try await FreedMemory.giveBackRegularly() }
        defer { returns.cancel() }
        let logger = Logger(label: "belfry.\(R.name)")
        let configuration = inspection.configuration
        let reloads = ReloadDesk(inspection, of: R.self, requests: reload.requests, logger: logger, read: read)
        let stopLimit = StopLimit(logger: logger)
        let service = try RoleService<R>(configuration, reloads: reloads, stopLimit: stopLimit, logger: logger)
        defer { withExtendedLifetime((reload, stopLimit)) {} }
        let settings = configuration.operations
        let operations = try settings.listen.map { address in
            let access = try OperationsAccess(settings, logger: logger)
            return OperationsEndpoint(address: address, access: access, source: service, logger: logger)
        }
        try await run(service, operations: operations, logger: logger)
    }

    /// Runs `service`; SIGTERM and SIGINT begin its graceful stop. Returns when it has stopped; throws what it throws.
    ///
    /// A second signal ends the process at once with exit code 1.
    ///
    /// - Parameter operations: the role's operations endpoint, open from before its start until after its stop.
    public static func run(
        _ service: any Service,
        operations: OperationsEndpoint? = nil,
        logger: Logger
    ) async throws {
        // Stopped in the opposite order of their start.
        let endpoint = operations.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: (endpoint.map { [$0] } ?? [])
                    + [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
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
