import Foundation

/// A change of the workers, as operators and their tools make it.
enum WorkerChange: String, CaseIterable, Sendable {
    /// None: to compare.
    case none
    /// From one to four.
    case grow
    /// From four to two, by SIGTERM.
    case shrink
    /// Each of the two is stopped, and replaced by another one.
    case roll
    /// A node goes: its worker is asked to stop, and killed before it is done. Another one takes its place.
    case cordon
}

extension IsolationBench {
    private static let grace = Duration.seconds(30)
    /// Less than a worker takes to settle and to commit.
    private static let shortGrace = Duration.milliseconds(100)
    /// Measured on after a change.
    private static let aftermath = Duration.seconds(3)

    /// Lets a topic flow while workers come and go.
    func scale() async throws -> ScalingReport {
        let partitions = partitions(seconds: Double(WorkerChange.allCases.count) * 20)
        var settings = settings(nil, partitions, Dose(rate: 0, queue: Dose.queues.upperBound))
        settings.workers = 1
        let scene = try Scene(settings, interruption: interruption)
        do {
            try await scene.open()
            var steps: [ScalingReport.Step] = []
            for change in WorkerChange.allCases {
                say("\(change.rawValue), from \(scene.stack.workerCount) workers")
                steps.append(try measure(change, scene))
            }
            scene.load.demand(Load.Demand(), of: Scene.Topic.healthy)
            try drain(scene)
            let (lost, disordered) = scene.healthy.with { ($0.outstanding, $0.disordered) }
            await scene.close()
            return ScalingReport(transport: transport, rate: rate, steps: steps, lost: lost, disordered: disordered)
        } catch {
            await scene.close()
            throw error
        }
    }

    private func measure(_ change: WorkerChange, _ scene: Scene) throws -> ScalingReport.Step {
        let start = SharedLedger.now
        let duplicates = scene.healthy.with { $0.duplicates }
        try carryOut(change, scene)
        scene.healthy.with { $0.interrupt(now: SharedLedger.now) }
        let isBack = try waitUntilBack(scene)
        let end = SharedLedger.now
        try scene.wait(Self.aftermath)
        return scene.healthy.with { ledger in
            let times = ledger.samples.filter { $0.sent >= start && $0.sent <= end }.map(\.nanoseconds).sorted()
            return ScalingReport.Step(
                change: change,
                workers: scene.stack.workerCount,
                seconds: isBack ? Double(end - start) / 1e9 : nil,
                p50Milliseconds: Percentile.milliseconds(50, of: times),
                p99Milliseconds: Percentile.milliseconds(99, of: times),
                longestMilliseconds: Percentile.milliseconds(100, of: times),
                duplicates: ledger.duplicates - duplicates
            )
        }
    }

    private func carryOut(_ change: WorkerChange, _ scene: Scene) throws {
        let stack = scene.stack
        switch change {
        case .none:
            try scene.wait(Self.aftermath)
        case .grow:
            try stack.addWorkers(3, pause: scene.pause)
        case .shrink:
            for _ in 0..<2 { try stack.stopWorker(grace: Self.grace, pause: scene.pause) }
        case .roll:
            for _ in 0..<2 {
                try stack.stopWorker(grace: Self.grace, pause: scene.pause)
                try stack.addWorkers(1, pause: scene.pause)
            }
        case .cordon:
            try stack.stopWorker(grace: Self.shortGrace, pause: scene.pause)
            try stack.addWorkers(1, pause: scene.pause)
        }
    }
}
