import Foundation

/// A change of the roles, as operators and their tools make it.
enum WorkerChange: String, CaseIterable, Sendable {
    /// None: to compare.
    case none
    /// From one worker to four.
    case grow
    /// From four to two, by SIGTERM.
    case shrink
    /// Each of the two processes of every role is stopped, and replaced by another one.
    case roll
    /// A node goes: its process of every role is asked to stop, and killed before it is done. Another one takes its
    /// place.
    case cordon
}

extension IsolationBench {
    private static let grace = Duration.seconds(30)
    /// Less than a role takes to drain and to leave its group.
    private static let shortGrace = Duration.milliseconds(20)
    /// Measured on after a change.
    private static let aftermath = Duration.seconds(3)

    /// Registrars, and harvesters.
    private static let tokenRoles = 2

    /// Lets a topic, registrations and feedback flow while roles come and go.
    func scale() async throws -> ScalingReport {
        let partitions = partitions(seconds: Double(WorkerChange.allCases.count) * 20)
        var settings = settings(nil, partitions, Dose(rate: 0, queue: Dose.queues.upperBound))
        settings.workers = 1
        settings.tokenRoles = Self.tokenRoles
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
            let tokens = try await scene.tokens?.finish(pause: scene.pause) ?? TokenFlow.Result()
            await scene.close()
            return ScalingReport(
                transport: transport,
                shards: shards,
                rate: rate,
                steps: steps,
                lost: lost,
                disordered: disordered,
                tokens: tokens
            )
        } catch {
            await scene.close()
            throw error
        }
    }

    private func measure(_ change: WorkerChange, _ scene: Scene) throws -> ScalingReport.Step {
        let start = SharedLedger.now
        let duplicates = scene.healthy.with { $0.duplicates }
        let killed = try carryOut(change, scene)
        scene.healthy.with { $0.interrupt(now: SharedLedger.now) }
        let isBack = try waitUntilBack(scene)
        let end = SharedLedger.now
        try scene.wait(Self.aftermath)
        return scene.healthy.with { ledger in
            let times = ledger.samples.filter { $0.sent >= start && $0.sent <= end }.map(\.nanoseconds).sorted()
            return ScalingReport.Step(
                change: change,
                workers: scene.stack.workerCount,
                killed: killed,
                seconds: isBack ? Double(end - start) / 1e9 : nil,
                p50Milliseconds: Percentile.milliseconds(50, of: times),
                p99Milliseconds: Percentile.milliseconds(99, of: times),
                longestMilliseconds: Percentile.milliseconds(100, of: times),
                duplicates: ledger.duplicates - duplicates
            )
        }
    }

    /// - Returns: the number of processes that were killed.
    private func carryOut(_ change: WorkerChange, _ scene: Scene) throws -> Int {
        let stack = scene.stack
        var killed = 0
        func stop(_ roles: [IsolationRole], grace: Duration) throws {
            killed += try stack.stop(roles, grace: grace, pause: scene.pause)
        }
        switch change {
        case .none:
            try scene.wait(Self.aftermath)
        case .grow:
            try stack.add([.worker, .worker, .worker], pause: scene.pause)
        case .shrink:
            for _ in 0..<2 { try stop([.worker], grace: Self.grace) }
        case .roll:
            for _ in 0..<Self.tokenRoles {
                try stop(IsolationRole.allCases, grace: Self.grace)
                try stack.add(IsolationRole.allCases, pause: scene.pause)
            }
        case .cordon:
            try stop(IsolationRole.allCases, grace: Self.shortGrace)
            try stack.add(IsolationRole.allCases, pause: scene.pause)
        }
        return killed
    }
}
