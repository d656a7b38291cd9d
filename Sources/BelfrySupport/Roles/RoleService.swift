import Logging
import NIOCore
import PipelineCore
import ServiceLifecycle

/// Runs a role from its start to its stop, and tells operators how it fares.
package struct RoleService<R: Role>: Service, OperationsSource {
    package let health: RoleHealth
    private let role: R
    private let failedDrain: Duration
    /// Nil: the configuration is not read again.
    private let reloads: ReloadDesk?
    private let configuration: BelfryConfiguration
    /// Nil: a stop may take for ever.
    private let stopLimit: StopLimit?
    private let logger: Logger
    /// The parts to ask: those that run, from the end of the start to the end of the drain.
    private let parts = EventLoopReports<R.Part>()

    /// - Throws: an error that names the file or the key: configuration is wrong (exit code 78).
    package init(_ configuration: BelfryConfiguration, logger: Logger) throws {
        try self.init(configuration, reloads: nil, stopLimit: nil, logger: logger)
    }

    /// - Parameter stopLimit: is told when the role begins to stop.
    init(_ configuration: BelfryConfiguration, reloads: ReloadDesk?, stopLimit: StopLimit?, logger: Logger) throws {
        let context = RoleContext(configuration, logger: logger)
        self.init(
            try R(context),
            health: context.health,
            reloads: reloads,
            configuration: configuration,
            stopLimit: stopLimit,
            logger: logger
        )
    }

    /// - Parameters:
    ///   - health: that of the role's context.
    ///   - failedDrain: longest drain of a role that could not go on.
    init(
        _ role: R,
        health: RoleHealth,
        failedDrain: Duration = .seconds(30),
        reloads: ReloadDesk? = nil,
        configuration: BelfryConfiguration = BelfryConfiguration(),
        stopLimit: StopLimit? = nil,
        logger: Logger
    ) {
        self.role = role
        self.health = health
        self.reloads = reloads
        self.failedDrain = failedDrain
        self.configuration = configuration
        self.stopLimit = stopLimit
        self.logger = logger
    }

    // MARK: Running

    /// Runs until a graceful shutdown, which drains the role, or until it cannot go on. Its threads have ended then.
    ///
    /// - Throws: what keeps the role from its start; ``RoleFailure``, once it has stopped, if it could not go on.
    package func run() async throws {
        try await role.withChecks {
            try await RoleThreads.run(role.loops.count) { try await work(on: $0) }
            try health.check()
        }
    }

    private func work(on threads: RoleThreads) async throws {
        let started = try await start(on: threads)
        parts.replace(with: started)
        for (name, eventLoop) in zip(role.loops, threads.eventLoops) {
            try await eventLoop.submit { health.watch(eventLoop, as: name) }.get()
        }
        let reloading = Task { await reload(started) }
        await health.untilStop()
        stopLimit?.begin(R.stopLimit(reloads?.configuration ?? configuration))
        // Nothing changes while the role drains.
        reloading.cancel()
        await reloading.value
        try await drain(started)
        parts.replace(with: [])
        try await role.close(started)
        health.forgetLoops()
    }

    /// Reads the configuration again as often as that is asked for, and lets the role use it. What was asked for during
    /// the start is done first.
    private func reload(_ started: [NIOLoopBound<R.Part>]) async {
        guard let reloads else { return }
        for await _ in reloads.requests {
            guard let configuration = await reloads.readAgain() else { continue }
            do {
                try await role.use(configuration, started)
            } catch {
                logger.error("settings could not be applied", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Drains the parts. After a failure not for ever: the drain may wait for the very client that failed, and the
    /// supervisor for the end of the process. A drain that is given up goes on until its parts are closed.
    private func drain(_ started: [NIOLoopBound<R.Part>]) async throws {
        guard health.hasFailed else { return try await role.drain(started) }
        let (ends, end) = AsyncStream<Result<Void, any Error>>.makeStream()
        let draining = Task { [role] in
            do {
                end.yield(.success(try await role.drain(started)))
            } catch {
                end.yield(.failure(error))
            }
        }
        let patience = Task { [failedDrain] in
            try? await Task.sleep(for: failedDrain)
            end.finish()
        }
        defer { patience.cancel() }
        for await result in ends { return try result.get() }
        draining.cancel()
        logger.warning("role ends without its drain, which took too long after the failure")
    }

    /// Starts all parts, or none: a part that runs must be stopped before it is released.
    private func start(on threads: RoleThreads) async throws -> [NIOLoopBound<R.Part>] {
        var started: [NIOLoopBound<R.Part>] = []
        do {
            try await role.start(on: threads, &started)
        } catch {
            // The cause is what counts.
            try? await role.drain(started)
            try? await role.close(started)
            throw error
        }
        return started
    }

    // MARK: Telling

    package func metrics() async -> [MetricFamily] {
        let reports = await reports()
        let readiness = health.readiness(now: MonotonicTime(.now())) ?? R.readiness(reports)
        let configuration = [reloads?.status].compactMap(\.self)
        return role.metrics(reports) + Readiness.table.families(of: [readiness])
            + ReloadDesk.table.families(of: configuration)
    }

    package var name: String { R.name }

    package func readiness() async -> Readiness {
        R.readiness(await reports())
    }

    package func status(now: Double) async -> RoleStatus {
        let reports = await reports()
        var status = RoleStatus(role: R.name, now: now)
        let readiness = R.readiness(reports)
        status.isReady = readiness.isReady
        status.obstacles = readiness.obstacles
        status.configuration = reloads?.status
        role.describe(reports, in: &status)
        return status
    }

    private func reports() async -> [R.Report] {
        await parts.ask { R.report(of: $0) }
    }
}
