import BelfrySupport
import NIOCore

/// Metrics and readiness of a registrar: asks it, on its thread.
public final class RegistrarOperations: OperationsSource {
    private let parts = BoundValues<RegistrarRole.Running>()
    public let health: RoleHealth

    init(health: RoleHealth) {
        self.health = health
    }

    /// The registrar that runs now; nil while it starts and once it stops, before its thread ends.
    func observe(_ running: NIOLoopBound<RegistrarRole.Running>?) {
        parts.replace(with: running.map { [$0] } ?? [])
    }

    public func metrics() async -> [MetricFamily] {
        RegistrarMetrics(await reports()).families
    }

    public func readiness() async -> Readiness {
        Readiness(ofRegistrars: await reports())
    }

    private func reports() async -> [RegistrarReport] {
        await parts.ask { $0.report() }
    }
}

extension Readiness {
    /// A registrar is ready when it can apply what comes. That the group gave it no partition is no obstacle: there may
    /// be more registrars than partitions.
    init(ofRegistrars reports: [RegistrarReport]) {
        self.init()
        if reports.isEmpty { obstacles.append("the registrar is starting or stopping") }
        if reports.contains(where: { !$0.isInGroup }) { obstacles.append("the registrar waits for its partitions") }
        if reports.contains(where: { !$0.isRedisReady }) { obstacles.append("the registrar waits for Redis") }
    }
}
