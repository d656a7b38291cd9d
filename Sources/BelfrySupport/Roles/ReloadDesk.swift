import Logging
import NIOPosix
import Synchronization

/// Reads a role's configuration again on request, and tells what comes of it: in the log, in metrics, in `/status`.
package final class ReloadDesk: Sendable {
    /// Reads the configuration as at the start. May block.
    package typealias Read = @Sendable () throws(ConfigurationError) -> ConfigurationInspection

    /// Each asks for the configuration to be read again.
    package let requests: AsyncStream<Void>
    private let read: Read
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var inForce: ConfigurationInForce
        var reloads = 0
        var refusedReloads = 0
    }

    /// - Parameters:
    ///   - start: the configuration at the start, which is sound.
    ///   - role: its name, and the sections that it reads.
    package init<R: Role>(
        _ start: ConfigurationInspection,
        of role: R.Type,
        requests: AsyncStream<Void>,
        logger: Logger,
        read: @escaping Read
    ) {
        self.requests = requests
        self.read = read
        self.logger = logger
        state = Mutex(State(inForce: ConfigurationInForce(start, sections: R.sections)))
    }

    /// Reads the configuration again.
    ///
    /// - Returns: what is in force now; nil: nothing has changed that the role applies while it runs.
    func readAgain() async -> BelfryConfiguration? {
        let answer = try? await NIOThreadPool.singleton.runIfActive { [read] in
            Result { () throws(ConfigurationError) in
                let inspection = try read()
                _ = try inspection.sound()
                return inspection
            }
        }
        switch answer {
        case .success(let inspection): return take(inspection)
        case .failure(let error): refuse(error)
        case nil: break
        }
        return nil
    }

    private func take(_ inspection: ConfigurationInspection) -> BelfryConfiguration? {
        let (changes, configuration) = state.withLock { state in
            let changes = state.inForce.take(inspection)
            state.reloads += 1
            return (changes, state.inForce.configuration)
        }
        let applied = changes.filter(\.isApplied)
        let level = configuration.logLevel
        let isMoreSevere = Logger.Level(level) > logger.logLevel
        // So that these lines are written by either level.
        if !isMoreSevere { ProcessLog.use(level) }
        for change in applied { logger.notice("setting changed", metadata: change.metadata) }
        for change in changes where !change.isApplied {
            logger.warning("setting needs a restart, nothing changes before", metadata: change.metadata)
        }
        logger.notice(
            "configuration read again",
            metadata: ["applied": "\(applied.count)", "restart-needed": "\(changes.count - applied.count)"]
        )
        if isMoreSevere { ProcessLog.use(level) }
        return applied.isEmpty ? nil : configuration
    }

    private func refuse(_ error: ConfigurationError) {
        state.withLock { $0.refusedReloads += 1 }
        for problem in error.problems {
            logger.error(
                "configuration refused, nothing changes",
                metadata: [
                    "place": "\(problem.origin)", "key": "\(problem.key)", "found": "\(problem.found)",
                    "allowed": "\(problem.allowed)",
                ]
            )
        }
    }

    // MARK: Telling

    /// The configuration in force.
    var configuration: BelfryConfiguration { state.withLock { $0.inForce.configuration } }

    var status: RoleStatus.Configuration {
        state.withLock { state in
            RoleStatus.Configuration(
                reloads: state.reloads,
                refusedReloads: state.refusedReloads,
                restartNeeded: state.inForce.restartNeeded.map { change in
                    .init(key: change.key, inForce: change.old.text, configured: change.new.text)
                }
            )
        }
    }

    /// In the order of `/metrics`.
    package static let table: [Metric<RoleStatus.Configuration>] = [
        .gauge(
            "belfry_configuration_restart_needed",
            "Keys of the configuration read last whose values need a new start of the role.",
            .count { $0.restartNeeded.count }
        ),
        .counter(
            "belfry_configuration_reloads_total",
            "Readings of the configuration at SIGHUP by result.",
            .counts(by: "result") { status in
                [("accepted", status.reloads), ("refused", status.refusedReloads)]
            }
        ),
    ]
}

extension ConfigurationChange {
    fileprivate var metadata: Logger.Metadata { ["key": "\(key)", "old": "\(old.text)", "new": "\(new.text)"] }
}
