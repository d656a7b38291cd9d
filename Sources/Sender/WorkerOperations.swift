import BelfrySupport
import NIOCore
import PipelineCore
import Synchronization
import TokenState

/// A worker's metrics and readiness for operators: asks its shards, each on its thread.
public final class WorkerOperations: OperationsSource {
    private let shards = BoundValues<WorkerShard>()
    private let certificates: CertificateStore
    private let filters = Mutex<DeadTokenSets?>(nil)
    private let retention = Mutex<Duration?>(nil)
    public let health: RoleHealth

    init(certificates: CertificateStore, health: RoleHealth) {
        self.certificates = certificates
        self.health = health
    }

    /// Sets the running shards; none while the worker starts and once it has stopped, before its threads end.
    ///
    /// - Parameter retention: the retention of push.requests; nil: for ever, or not known.
    func observe(
        _ shards: [NIOLoopBound<WorkerShard>],
        filters: DeadTokenSets? = nil,
        retention: Duration? = nil
    ) {
        self.shards.replace(with: shards)
        self.retention.withLock { $0 = retention }
        self.filters.withLock { $0 = filters }
    }

    public func metrics() async -> [MetricFamily] {
        WorkerMetrics(
            await reports(),
            certificates: certificates.certificates,
            filter: filterReport(),
            retention: retention.withLock { $0 }
        ).families
    }

    public func readiness() async -> Readiness {
        Readiness(of: await reports())
    }

    private func filterReport() -> WorkerMetrics.Filter? {
        guard let filters = filters.withLock({ $0 }) else { return nil }
        let now = MonotonicTime(.now())
        return .init(
            age: filters.completeSince.map { $0.elapsed(until: now) },
            entries: filters.count,
            bytes: filters.bytes,
            givenUp: filters.givenUp
        )
    }

    private func reports() async -> [ShardReport] {
        await shards.ask { $0.report() }
    }
}

extension Readiness {
    /// A worker is ready when every shard has joined the group and has its token state.
    init(of reports: [ShardReport]) {
        self.init()
        if reports.isEmpty { obstacles.append("the worker is starting or stopping") }
        for (number, report) in reports.enumerated() {
            if report.isDraining { obstacles.append("shard \(number) drains") }
            if !report.hasJoined { obstacles.append("shard \(number) waits for its partitions") }
            if report.isTokenStateReady == false { obstacles.append("shard \(number) waits for Redis") }
        }
    }
}
