import Logging
import NIOCore

/// A role of the pipeline: a process of its own, which works until it is told to stop.
///
/// It says what is its own: checks, parts, reports, draining. ``RoleService`` does what is the same for all: the order
/// of start and stop, the end of a start that fails half-way, health, and the answers to operators.
package protocol Role: Sendable {
    /// Lives on one of the role's event loops, and is asked there for its report.
    associatedtype Part
    /// Work and state of a part, at one moment.
    associatedtype Report: Sendable

    /// The name of its command, which its log and its readiness use, too.
    static var name: String { get }
    /// One sentence for the help of its command.
    static var summary: String { get }

    /// The sections of the configuration that it reads.
    static var sections: Set<String> { get }

    /// Checks everything that needs no network.
    ///
    /// - Throws: an error that names the file or the key: configuration is wrong (exit code 78).
    init(_ context: RoleContext) throws

    /// The names of its event loops, each a thread; at least one. By default one, with the name of the role.
    var loops: [String] { get }

    /// Runs `work` after and beside the checks of what the role relies on. Once.
    ///
    /// - Throws: what a check refuses, before `work` began; what `work` throws.
    func withChecks(_ work: () async throws -> Void) async throws

    /// Waits for the servers that the role needs, and starts its parts on the threads, in the order of ``loops``.
    ///
    /// - Parameter parts: takes each part as it has started. If a later one cannot start these are drained and closed;
    ///   what began and is no part yet is noted with ``RoleThreads/onFailure(on:_:)``.
    /// - Throws: `CancellationError` when the role is told to stop first; an error that ends the role.
    func start(on threads: RoleThreads, _ parts: inout [NIOLoopBound<Part>]) async throws

    /// Uses another configuration from now on; does nothing by default. Never before ``start(on:_:)`` has returned, nor
    /// at the same time as ``drain(_:)``.
    ///
    /// - Parameter configuration: differs from the one before in keys only that count while a role runs.
    func use(_ configuration: BelfryConfiguration, _ parts: [NIOLoopBound<Part>]) async throws

    /// Waits until the parts have finished; metrics and health still ask them. Does nothing by default.
    func drain(_ parts: [NIOLoopBound<Part>]) async throws

    /// Ends everything that still runs, after ``drain(_:)``. Metrics and health no longer ask the parts.
    ///
    /// There are no parts if the role did not start.
    func close(_ parts: [NIOLoopBound<Part>]) async throws

    /// The longest stop, from its beginning to the end of the process; by default 55 s. Longer than the limits of all
    /// its steps together, and shorter than a supervisor's patience.
    static func stopLimit(_ configuration: BelfryConfiguration) -> Duration

    /// Tells how a part fares; on its event loop.
    static func report(of part: Part) -> Report

    /// From any thread.
    ///
    /// - Parameter reports: of all parts, in their order; none before all have started, and once they are drained.
    func metrics(_ reports: [Report]) -> [MetricFamily]

    /// Adds what `/status` tells of the role beyond its readiness. From any thread; by default nothing.
    ///
    /// - Parameters:
    ///   - reports: of all parts, in their order.
    ///   - status: names the time.
    func describe(_ reports: [Report], in status: inout RoleStatus)

    /// Obstacles that keep the role from its work. From any thread.
    ///
    /// - Parameter reports: of all parts, in their order.
    static func obstacles(_ reports: [Report]) -> [Readiness.Obstacle]
}

extension Role {
    package var loops: [String] { [Self.name] }

    package static var sections: Set<String> { ConfigurationKeys.sections(of: name) }

    package func use(_ configuration: BelfryConfiguration, _ parts: [NIOLoopBound<Part>]) async throws {}

    package func drain(_ parts: [NIOLoopBound<Part>]) async throws {}

    package static func stopLimit(_ configuration: BelfryConfiguration) -> Duration { .seconds(55) }

    package func describe(_ reports: [Report], in status: inout RoleStatus) {}

    /// A role without reports is not ready.
    static func readiness(_ reports: [Report]) -> Readiness {
        reports.isEmpty ? Readiness(process: ["the \(name) is starting or stopping"]) : Readiness(obstacles(reports))
    }
}

/// The things that a role is made of.
package struct RoleContext: Sendable {
    package let configuration: BelfryConfiguration
    /// Takes the troubles that the role does not get over by itself.
    package let health: RoleHealth
    package let logger: Logger

    package init(_ configuration: BelfryConfiguration, health: RoleHealth = RoleHealth(), logger: Logger) {
        self.configuration = configuration
        self.health = health
        self.logger = logger
    }
}
