import BelfrySupport
import NIOCore
import PipelineCore

/// Metrics and readiness of a harvester: asks it, on its thread.
public final class HarvesterOperations: OperationsSource {
    private let parts = BoundValues<HarvesterRole.Running>()
    public let health: RoleHealth

    init(health: RoleHealth) {
        self.health = health
    }

    /// The harvester that runs now; nil while it starts and once it has stopped, before its thread ends.
    func observe(_ running: NIOLoopBound<HarvesterRole.Running>?) {
        parts.replace(with: running.map { [$0] } ?? [])
    }

    public func metrics() async -> [MetricFamily] {
        HarvesterMetrics(await reports()).families
    }

    public func readiness() async -> Readiness {
        Readiness(ofHarvesters: await reports())
    }

    private func reports() async -> [HarvesterReport] {
        await parts.ask { $0.report(now: .init(.now())) }
    }
}

extension Readiness {
    /// A harvester is ready when it can have leases and apply tuples. That a list cannot be read is no reason to start
    /// it again.
    init(ofHarvesters reports: [HarvesterReport]) {
        self.init()
        if reports.isEmpty { obstacles.append("the harvester is starting or stopping") }
        if reports.contains(where: { !$0.isInGroup }) { obstacles.append("the harvester waits for its partitions") }
        if reports.contains(where: { !$0.isRedisReady }) { obstacles.append("the harvester waits for Redis") }
    }
}
