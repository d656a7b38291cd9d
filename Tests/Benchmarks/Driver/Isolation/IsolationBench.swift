import Foundation
import LocalPipeline

/// Plays the scenarios, each with a broker, a Redis server and workers of its own.
struct IsolationBench {
    /// Between workers and gateways.
    var transport: PipelineTransport
    var executable: String
    var directory: String
    /// Of measuring, half of them before the kill.
    var seconds: Int
    var sessionSeconds: Int
    /// Of each worker.
    var shards: Int
    /// Notifications a second of the healthy topic.
    var rate: Int
    /// More keys of the section `worker`, each behind a comma.
    var worker: String
    let interruption: Interruption

    /// Of the healthy topic without a sick one beside it.
    struct Baseline {
        var rate: Double
        var p99Milliseconds: Double?
    }

    /// The measured part of a scene.
    struct Stretch {
        var windows: Percentile.Windows
        var accepted: Int
        var takeover: Takeover
    }

    /// The take-over after a kill.
    struct Takeover {
        var kill: Int64
        /// Until something of every partition was accepted that was published after it.
        var seconds: Double
        /// Until what had piled up was gone; nil: it was not expected any more.
        var catchUpSeconds: Double?
    }

    private static let leastPartitions = 24
    /// Beyond what a take-over may take.
    private static let catchUpPatience = Duration.seconds(20)
    private static let drainPatience = Duration.seconds(20)

    /// The healthy topic alone, or beside a sick one.
    func measure(_ sickness: Sickness?, baseline: Baseline?) async throws -> IsolationReport {
        let partitions = partitions(seconds: Double(seconds))
        let dose = Dose(seconds: seconds, partitions: partitions)
        let scene = try Scene(settings(sickness, partitions, dose), interruption: interruption)
        do {
            try await scene.open()
            if sickness != nil { scene.load.demand(Load.Demand(rate: dose.rate), of: Scene.Topic.sick) }
            let stretch = try measure(scene)
            scene.load.demand(Load.Demand(), of: Scene.Topic.sick)
            try drain(scene)
            var report = report(scene, stretch, baseline)
            report.scenario = sickness?.rawValue ?? "alone"
            report.sickness = sickness
            report.sickQueue = dose.queue * partitions
            await scene.close()
            return report
        } catch {
            await scene.close()
            throw error
        }
    }

    func settings(_ sickness: Sickness?, _ partitions: Int, _ dose: Dose) -> Scene.Settings {
        let transport = transport
        return Scene.Settings(
            transport: transport,
            sharesConnections: sickness?.sharesConnections(over: transport) ?? false,
            executable: executable,
            directory: directory,
            partitions: partitions,
            queue: dose.queue,
            sessionSeconds: sessionSeconds,
            shards: shards,
            rate: rate,
            manner: sickness?.manner(rate: dose.rate, over: transport) ?? .works,
            hasCertificate: sickness != .certificateMissing,
            sickTokensPerRecord: sickness?.tokensPerRecord ?? 100,
            sickKind: { sickness?.kind(of: $0, over: transport) ?? .good },
            worker: worker
        )
    }

    /// As many as keep all records of so many seconds, and of warming up, take-over and draining.
    func partitions(seconds: Double) -> Int {
        let records = (seconds + 60) * Double(rate) * 1.2
        return max(Self.leastPartitions, Int(records) / Load.recordsPerPartition + 1)
    }

    /// Half the time, a kill, the take-over and what it held up, the other half.
    private func measure(_ scene: Scene) throws -> Stretch {
        let half = Duration.milliseconds(seconds * 500)
        let start = SharedLedger.now
        let first = scene.healthy.with { $0.distinct }
        try scene.wait(half)
        let second = scene.healthy.with { $0.distinct }
        let takeover = try killWorker(scene)
        let third = scene.healthy.with { $0.distinct }
        let caughtUp = SharedLedger.now
        try scene.wait(half)
        let end = SharedLedger.now
        let fourth = scene.healthy.with { $0.distinct }
        scene.load.demand(Load.Demand(), of: Scene.Topic.healthy)
        return Stretch(
            windows: Percentile.Windows(start: start, kill: takeover.kill, caughtUp: caughtUp, end: end),
            accepted: second - first + fourth - third,
            takeover: takeover
        )
    }

    /// Kills a worker and returns when the healthy topic has caught up, or is not expected to any more.
    func killWorker(_ scene: Scene) throws -> Takeover {
        let kill = SharedLedger.now
        scene.healthy.with { $0.interrupt(now: kill) }
        scene.stack.killWorker()
        let hasCaughtUp = try waitUntilBack(scene)
        let resumption = scene.healthy.with { $0.resumption } ?? SharedLedger.now
        if !hasCaughtUp { say("the healthy topic has not caught up: \(scene.outstanding) are on their way") }
        return Takeover(
            kill: kill,
            seconds: Double(resumption - kill) / 1e9,
            catchUpSeconds: hasCaughtUp ? Double(SharedLedger.now - kill) / 1e9 : nil
        )
    }

    /// Waits until the healthy topic resumed in every partition and nothing has piled up; false: it has not in time.
    func waitUntilBack(_ scene: Scene) throws -> Bool {
        let limit = Duration.seconds(Double(sessionSeconds) + Bounds.takeoverSeconds) + Self.catchUpPatience
        return try scene.wait(limit) {
            scene.healthy.with { $0.resumption != nil && $0.outstanding <= rate / 10 }
        }
    }

    /// Waits for the last notifications of the healthy topic.
    func drain(_ scene: Scene) throws {
        // A turn of the load may be under way.
        try scene.wait(.milliseconds(100))
        _ = try scene.wait(Self.drainPatience) { scene.outstanding == 0 }
    }

    func report(_ scene: Scene, _ stretch: Stretch, _ baseline: Baseline?) -> IsolationReport {
        var report = IsolationReport(scenario: "")
        report.transport = transport
        report.sessionSeconds = sessionSeconds
        report.seconds = stretch.windows.seconds
        report.rate = Double(stretch.accepted) / stretch.windows.seconds
        report.takeoverSeconds = stretch.takeover.seconds
        report.catchUpSeconds = stretch.takeover.catchUpSeconds
        scene.healthy.with { ledger in
            let times = ledger.samples.filter(stretch.windows.include).map(\.nanoseconds).sorted()
            report.p50Milliseconds = Percentile.milliseconds(50, of: times)
            report.p99Milliseconds = Percentile.milliseconds(99, of: times)
            report.lost = ledger.outstanding
            report.duplicates = ledger.duplicates
            report.disordered = ledger.disordered
        }
        report.rateAlone = baseline?.rate
        report.p99AloneMilliseconds = baseline?.p99Milliseconds
        let counts = scene.aftermath.counts
        report.tombstones = counts.tombstones
        report.deadLetters = counts.deadLetters
        if !counts.sources.isEmpty {
            report.deadLetterBytesRatio =
                Double(counts.deadLetterBytes) / Double(counts.sources.count * scene.sickRecordBytes)
        }
        report.sickOffered = scene.load.offered(Scene.Topic.sick)
        report.sickAccepted = scene.sick.with { $0.distinct }
        report.sickConnections = scene.sickGateway.counts.connections
        return report
    }
}
