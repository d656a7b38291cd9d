import Foundation

extension IsolationBench {
    /// Lets a topic come back with a backlog while the healthy one goes on; a worker is killed in the middle.
    ///
    /// Its rate without lag is measured before: published is then only as much as is accepted.
    ///
    /// - Parameter notifications: published while it is away.
    func comeBack(_ notifications: Int, baseline: Baseline) async throws -> IsolationReport {
        let patience = Duration.seconds(60 + notifications / 20_000)
        let partitions = partitions(seconds: patience / .seconds(1))
        let queue = Dose.queues.upperBound
        let scene = try Scene(settings(nil, partitions, Dose(rate: 0, queue: queue)), interruption: interruption)
        do {
            try await scene.open()
            let liveRate = try live(scene, outstanding: queue * partitions / 4)
            try await scene.sickGateway.shut()
            let deadline = ContinuousClock.now + patience
            try publishBacklog(scene, notifications, patience)
            let before = scene.sick.with { $0.distinct }
            try await scene.sickGateway.open(.works)
            // The time until it is tried again is measured elsewhere.
            _ = try scene.wait(Self.left(deadline)) { scene.sick.with { $0.distinct } > before }
            let start = SharedLedger.now
            let healthyBefore = scene.healthy.with { $0.distinct }
            let half = try scene.wait(Self.left(deadline)) {
                scene.sick.with { $0.distinct } - before >= notifications / 2
            }
            if !half { say("the topic does not come back") }
            let began = scene.sick.with { $0.distinct }
            let healthyBegan = scene.healthy.with { $0.distinct }
            let takeover = try killWorker(scene)
            let kill = takeover.kill
            let resumed = SharedLedger.now
            let ended = scene.sick.with { $0.distinct }
            let healthyEnded = scene.healthy.with { $0.distinct }
            _ = try scene.wait(Self.left(deadline)) { scene.sick.with { $0.outstanding } == 0 }
            let end = SharedLedger.now
            let last = scene.sick.with { $0.lastAcceptance ?? end }
            let windows = Percentile.Windows(start: start, kill: kill, caughtUp: resumed, end: end)
            let accepted = scene.healthy.with { $0.distinct } - healthyEnded + healthyBegan - healthyBefore
            scene.load.demand(Load.Demand(), of: Scene.Topic.healthy)
            try drain(scene)
            let stretch = Stretch(windows: windows, accepted: accepted, takeover: takeover)
            var report = report(scene, stretch, baseline)
            report.scenario = "return"
            // Its share of the machine is the other topic's for a while: only the rate is its own.
            report.p99AloneMilliseconds = nil
            report.sickQueue = queue * partitions
            let seconds = Double(kill - start + max(0, last - resumed)) / 1e9
            report.comeback = scene.sick.with { ledger in
                IsolationReport.Comeback(
                    notifications: notifications,
                    rate: Double(began - before + ledger.distinct - ended) / seconds,
                    liveRate: liveRate,
                    lost: ledger.outstanding,
                    duplicates: ledger.duplicates,
                    disordered: ledger.disordered
                )
            }
            await scene.close()
            return report
        } catch {
            await scene.close()
            throw error
        }
    }

    private static func left(_ deadline: ContinuousClock.Instant) -> Duration {
        ContinuousClock.now.duration(to: deadline)
    }

    /// More than anybody offers: what is published then is what is accepted, or what the backlog is made at.
    private static let fullRate = 400_000

    /// Lets the topic flow without lag; returns how many a second were accepted.
    ///
    /// - Parameter outstanding: most that may be on their way, a part of the topic's queues.
    private func live(_ scene: Scene, outstanding: Int) throws -> Double {
        let seconds = max(2, seconds / 2)
        scene.load.demand(Load.Demand(rate: Self.fullRate, outstanding: outstanding), of: Scene.Topic.sick)
        // The first connections, and what the worker learns of the topic.
        try scene.wait(.seconds(2))
        let start = SharedLedger.now
        let before = scene.sick.with { $0.distinct }
        try scene.wait(.seconds(seconds))
        let accepted = scene.sick.with { $0.distinct } - before
        let elapsed = Double(SharedLedger.now - start) / 1e9
        scene.load.demand(Load.Demand(), of: Scene.Topic.sick)
        try scene.wait(.milliseconds(100))
        guard try scene.wait(.seconds(30), until: { scene.sick.with { $0.outstanding } == 0 }) else {
            throw BenchmarkError("the topic does not flow while it is well")
        }
        return Double(accepted) / elapsed
    }

    private func publishBacklog(_ scene: Scene, _ notifications: Int, _ patience: Duration) throws {
        let limit = scene.load.offered(Scene.Topic.sick) + notifications
        scene.load.demand(Load.Demand(rate: Self.fullRate, limit: limit), of: Scene.Topic.sick)
        let isPublished = try scene.wait(patience) { scene.load.offered(Scene.Topic.sick) >= limit }
        guard isPublished else { throw BenchmarkError("the backlog cannot be published") }
    }
}
