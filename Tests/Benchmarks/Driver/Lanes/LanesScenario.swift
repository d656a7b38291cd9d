import Foundation
import Glibc
import KafkaClient
import LocalPipeline
import PushTopics
import Workbench

/// Scenario `lanes`: two workers with default lanes, a sandbox that answers late, and notifications of one app in bulk
/// and in urgent.
///
/// A backlog is published while the workers stand still (SIGSTOP), so that what is measured begins with all of it. The
/// sandbox tells how much it has accepted, and of each title of the probes. Each lane has devices of its own, and those
/// of urgent are offline: so bulk alone is delivered, and all else that was accepted is urgent. Titles for all urgent
/// ones would tell as much, but the sandbox reads each as JSON under a lock, and a flood would wait for that.
final class LanesScenario {
    struct Settings {
        var transport: PipelineTransport
        var executable: String
        var directory: String
        /// `host:port`; nil: the embedded broker.
        var kafka: String?
        var partitions: Int
        /// Notifications in bulk.
        var backlog: Int
        /// Notifications in urgent, and in bulk, when urgent floods.
        var flood: Int
        /// Share of bulk's rate at which urgent notifications are published beside it.
        var urgentPercent: Double
        /// Urgent notifications a second of which the time is taken.
        var probes: Int
        /// Nil: the program's own.
        var sessionMilliseconds: Int?
        /// Of each worker, in each lane.
        var shards: Int
    }

    /// The sandbox's counters at one time.
    private struct Look {
        var accepted: Int
        /// Of these: delivered, as none of urgent is.
        var bulk: Int
        var distinct: Int
        var now: Int64

        var urgent: Int { accepted - bulk }
    }

    static let app = "com.example.offers"
    static let answerDelayMilliseconds = 40
    /// Of each lane, those of urgent first: enough that each key has more tokens than a record.
    private static let devices = 640 * Int(LaneKeys.spread)
    private static let workers = 2
    private static let warmUpNotifications = 100_000
    private static let warmUp = Duration.seconds(2)
    private static let lookMilliseconds = 5
    /// Of urgent notifications beside bulk: seconds in all, and the backlogs that are worked off for that.
    private static let leastBesideSeconds = 15.0
    private static let mostBacklogs = 3
    private static let startPatience = Duration.seconds(60)
    /// Without a single acceptance.
    private static let silence = Duration.seconds(60)
    private static let takeoverPatience = Duration.seconds(60)
    private static let unacknowledgedLimit = 5000
    /// The sandbox's default for pairs that it tells apart, and its most.
    private static let pairLimits = 25_165_824...1 << 26
    /// `group.session.timeout.ms` of the urgent lane, unless it is set.
    private static let defaultSessionMilliseconds = 6000

    private let settings: Settings
    private let pipeline: LocalPipeline
    private let producer: KafkaProducer
    private let load: UrgentLoad
    private let interruption: Interruption
    private let places: [LaneKeys.Key]
    private let urgent: RecordStream
    private let bulk: RecordStream
    private var unacknowledged = 0
    private var failure: KafkaError?

    /// Starts everything.
    init(_ settings: Settings, interruption: Interruption) throws {
        self.settings = settings
        self.interruption = interruption
        var options = LocalPipeline.Options()
        options.transport = settings.transport
        options.lanes = RequestLane.allCases
        options.topics = [Self.app]
        options.devices = 2 * Self.devices
        options.partitions = settings.partitions
        options.kafka = settings.kafka
        if settings.kafka == nil {
            // It lets a fetch that finds nothing wait for all of its time, also while records come.
            options.kafkaProperties = ", fetch.wait.max.ms: \"10\""
        } else {
            options.prefix = "belfry-bench-\(UUID().uuidString.prefix(8).lowercased())."
        }
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.outcomes = "failures"
        options.worker = """
            {shards: \(settings.shards), connections-per-topic: 2, confirmation-window: 500ms, \
            connections-per-minute: 6000}
            """
        options.sandboxArguments = ["--count-titles", "--remembered-pairs", "\(Self.pairs(settings))"]
        let pipeline = try LocalPipeline(options, executable: settings.executable, directory: settings.directory)
        self.pipeline = pipeline
        do {
            let names = TopicNames(prefix: options.prefix)
            let keys = try [0, Self.devices].map { first in
                LaneKeys(
                    bundleID: LanesScenario.app,
                    tokens: try pipeline.tokens(of: LanesScenario.app, first: first, count: LanesScenario.devices),
                    partitions: settings.partitions
                )
            }
            urgent = try RecordStream(topic: names.requests(.urgent), keys: keys[0])
            bulk = try RecordStream(topic: names.requests(.bulk), keys: keys[1])
            places = keys[0].places.map { $0[0] }
            load = UrgentLoad(places: places.count)
            for _ in 0..<Self.workers { try pipeline.startWorker() }
            producer = try KafkaProducer(properties: [
                "bootstrap.servers": pipeline.brokers, "acks": "all", "linger.ms": "50",
            ])
            load.start(
                UrgentLoad.Settings(
                    brokers: pipeline.brokers,
                    topic: names.requests(.urgent),
                    keys: places,
                    probes: settings.probes
                )
            )
        } catch {
            pipeline.stop()
            throw error
        }
        producer.onDelivery = { [unowned self] _, error, _, _ in
            unacknowledged -= 1
            if let error { failure = error }
        }
    }

    /// Notifications that the sandbox has to tell apart, the urgent ones estimated.
    private static func pairs(_ settings: Settings) -> Int {
        let needed = (mostBacklogs * settings.backlog + 2 * settings.flood) * 5 / 4
        return min(max(needed, pairLimits.lowerBound), pairLimits.upperBound)
    }

    /// Ends everything that was started.
    func stop() {
        for worker in pipeline.workers { worker.signal(SIGCONT) }
        load.stop()
        let deadline = ContinuousClock.now + .seconds(20)
        while !load.hasStopped, ContinuousClock.now < deadline { interruption.pass(milliseconds: 5) }
        producer.close()
        pipeline.stop()
    }

    /// Plays all parts, and reports.
    func run() async throws -> LanesReport {
        try await prepare()
        var report = LanesReport(
            transport: settings.transport,
            backlog: settings.backlog,
            partitions: settings.partitions,
            answerDelayMilliseconds: Self.answerDelayMilliseconds
        )
        try await workOff(into: &report)
        try await flood(into: &report)
        report.takeoverSeconds = try await takeOver()
        say("waiting for what is left")
        // The thread that publishes may be in a turn.
        try pass()
        let published = self.published
        var seen = try await look()
        _ = try await follow(&seen, within: Self.silence) { $0.distinct >= published }
        report.lost = max(0, published - seen.distinct)
        report.duplicates = seen.accepted - seen.distinct
        return report
    }

    // MARK: Parts

    /// Waits for the workers, and lets them connect. Throws if the sandbox does not tell the lanes apart.
    private func prepare() async throws {
        let deadline = ContinuousClock.now + Self.startPatience
        while !haveAllPartitions {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("not all shards get partitions") }
            try pass()
        }
        try await pipeline.sandbox.setFault(
            #"{"name":"answer-delay","milliseconds":\#(Self.answerDelayMilliseconds)}"#
        )
        try await pipeline.sandbox.setDevices(topic: Self.app, first: 0, count: Self.devices, state: "offline")
        var seen = try await look()
        try publish([(bulk, Self.warmUpNotifications)])
        load.demand(Double(settings.probes))
        let end = ContinuousClock.now + Self.warmUp
        _ = try await follow(&seen, within: Self.silence) { _ in ContinuousClock.now >= end }
        load.demand(0)
        try await settle(&seen)
        guard seen.urgent > 0, seen.bulk >= bulk.published else {
            throw BenchmarkError("of \(seen.accepted) notifications in both lanes \(seen.bulk) count as bulk")
        }
    }

    private var haveAllPartitions: Bool {
        RequestLane.allCases.allSatisfy {
            WorkerLog.shardsWithPartitions(in: pipeline.workers, of: $0) == Self.workers * settings.shards
        }
    }

    /// Lets a backlog in bulk be worked off, and another one until urgent notifications were beside it for long enough:
    /// percentiles of few are chance.
    private func workOff(into report: inout LanesReport) async throws {
        let urgentBefore = load.published
        var besideSeconds = 0.0
        for _ in 0..<Self.mostBacklogs where besideSeconds < Self.leastBesideSeconds {
            besideSeconds += try await workOffBacklog(into: &report)
        }
        let times = load.withLedger { $0.nanoseconds }.sorted()
        report.p50Milliseconds = Percentile.milliseconds(50, of: times)
        report.p99Milliseconds = Percentile.milliseconds(99, of: times)
        report.probes = times.count
        if besideSeconds > 0 { report.urgentRate = Double(load.published - urgentBefore) / besideSeconds }
    }

    /// Lets a backlog be worked off, alone and with urgent notifications beside it in turns.
    ///
    /// - Returns: the seconds with these.
    private func workOffBacklog(into report: inout LanesReport) async throws -> Double {
        say("\(settings.backlog) notifications in bulk")
        let before = try await look()
        try publish([(bulk, settings.backlog)])
        var seen = try await look()
        let (start, end) = (seen.bulk - before.bulk, settings.backlog)
        guard start <= end / 2 else {
            throw BenchmarkError("half of the backlog was sent before all of it was published: give a smaller one")
        }
        var slices = BacklogSlices(from: start, to: end, now: seen.now)
        var besideSeconds = 0.0
        while seen.bulk - before.bulk < end {
            let alone = slices.rates(.alone)
            let isBeside = slices.current == .beside && !alone.values.isEmpty
            load.withLedger { $0.isMeasuring = isBeside }
            load.demand(isBeside ? max(Double(settings.probes), alone.median * settings.urgentPercent / 100) : 0)
            let (last, lastNow) = (seen.bulk, seen.now)
            // Urgent ones may go on.
            let deadline = ContinuousClock.now + Self.silence
            _ = try await follow(&seen, within: Self.silence) { $0.bulk > last || ContinuousClock.now >= deadline }
            guard seen.bulk > last else {
                throw BenchmarkError("\(end - seen.bulk + before.bulk) notifications in bulk are not sent")
            }
            if isBeside { besideSeconds += Double(seen.now - lastNow) / 1e9 }
            slices.note(accepted: seen.bulk - before.bulk, now: seen.now)
        }
        load.demand(0)
        load.withLedger { $0.isMeasuring = false }
        try await settle(&seen)
        for rate in slices.rates(.alone).values { report.bulkRateAlone.add(rate) }
        for rate in slices.rates(.beside).values { report.bulkRate.add(rate) }
        for ratio in slices.ratios.values { report.bulkRatios.add(ratio) }
        say("bulk \(Int(report.bulkRateAlone.median))/s alone and \(Int(report.bulkRate.median))/s beside urgent")
        return besideSeconds
    }

    /// Lets both lanes have a backlog, and counts while both have one.
    private func flood(into report: inout LanesReport) async throws {
        say("\(settings.flood) notifications in urgent, and in bulk")
        let before = try await look()
        try publish([(urgent, settings.flood), (bulk, settings.flood)])
        var seen = try await look()
        // Not before both are under way, and not until the first partitions run dry.
        let (tenth, most) = (settings.flood / 10, settings.flood * 8 / 10)
        func isOver(_ seen: Look) -> Bool { max(seen.urgent - before.urgent, seen.bulk - before.bulk) >= most }
        _ = try await follow(&seen, within: Self.silence) {
            max($0.urgent - before.urgent, $0.bulk - before.bulk) >= tenth
        }
        let first = seen
        guard try await follow(&seen, within: Self.silence, until: isOver), seen.accepted > first.accepted else {
            throw BenchmarkError("neither lane's backlog is worked off, or it was while it was published")
        }
        let accepted = seen.accepted - first.accepted
        report.bulkShare = Double(seen.bulk - first.bulk) / Double(accepted)
        report.floodRate = Double(accepted) / (Double(seen.now - first.now) / 1e9)
        try await settle(&seen)
    }

    /// Kills a worker while urgent notifications go on.
    ///
    /// - Returns: see ``LanesReport/takeoverSeconds``.
    private func takeOver() async throws -> Double? {
        say("kill -9 of a worker")
        load.demand(Double(settings.probes))
        var seen = try await look()
        let start = ContinuousClock.now + Self.warmUp
        _ = try await follow(&seen, within: Self.silence) { _ in ContinuousClock.now >= start }
        guard let victim = pipeline.workers.last else { throw BenchmarkError("there is no worker") }
        let held = WorkerLog.partitions(of: victim, in: .urgent)
        let concerned = places.indices.filter { held.contains(places[$0].partition) }
        guard !concerned.isEmpty else { throw BenchmarkError("the worker has no urgent partition") }
        load.withLedger { $0.interrupt(now: SharedLedger.now) }
        victim.kill()
        let end = ContinuousClock.now + Self.takeoverPatience
        _ = try await follow(&seen, within: Self.takeoverPatience) { _ in
            load.withLedger { $0.takeoverSeconds(of: concerned) } != nil || ContinuousClock.now >= end
        }
        load.demand(0)
        let seconds = load.withLedger { $0.takeoverSeconds(of: concerned) }
        if let seconds { say("\(concerned.count) partitions were taken over after \(rounded(seconds, digits: 1)) s") }
        return seconds
    }

    // MARK: Publishing

    /// Publishes so many notifications into lanes, at first while the workers stand still: for no longer than their
    /// sessions allow. They go on meanwhile if that was too short, and in any case afterwards.
    private func publish(_ parts: [(stream: RecordStream, count: Int)]) throws {
        for worker in pipeline.workers { try worker.standStill() }
        var standsStill = true
        let session = settings.sessionMilliseconds ?? Self.defaultSessionMilliseconds
        let deadline = ContinuousClock.now + .milliseconds(session * 5 / 8)
        func goOn(isDone: Bool) {
            guard standsStill, isDone || ContinuousClock.now >= deadline else { return }
            standsStill = false
            for worker in pipeline.workers { worker.signal(SIGCONT) }
        }
        defer { goOn(isDone: true) }
        for (stream, count) in parts {
            for _ in 0..<count / RecordStream.tokensPerRecord {
                try stream.publishNext(through: producer)
                unacknowledged += 1
                while unacknowledged >= Self.unacknowledgedLimit { try pass(milliseconds: 1) }
                goOn(isDone: false)
            }
        }
        while unacknowledged > 0 {
            try pass(milliseconds: 1)
            goOn(isDone: false)
        }
    }

    /// Notifications in all lanes.
    private var published: Int { urgent.published + bulk.published + load.published }

    // MARK: Looking

    /// Waits until all that is published by now was accepted.
    private func settle(_ seen: inout Look) async throws {
        let published = self.published
        guard try await follow(&seen, within: Self.silence, until: { $0.distinct >= published }) else {
            throw BenchmarkError("\(published - seen.distinct) notifications do not reach the gateway")
        }
    }

    /// Looks again and again until a condition holds; false: nothing was accepted for so long before.
    private func follow(
        _ seen: inout Look,
        within silence: Duration,
        until condition: (Look) -> Bool
    ) async throws -> Bool {
        var lastNews = ContinuousClock.now
        while !condition(seen) {
            guard lastNews.duration(to: .now) < silence else { return false }
            try pass(milliseconds: Self.lookMilliseconds)
            let next = try await look()
            if next.accepted > seen.accepted { lastNews = .now }
            seen = next
        }
        return true
    }

    /// Asks the sandbox, and tells the ledger of the probes.
    private func look() async throws -> Look {
        let stats = try await pipeline.sandbox.stats()
        let now = SharedLedger.now
        let topic = stats.topics[Self.app]
        if let titles = topic?.titles { load.withLedger { $0.note(titles, now: now) } }
        return Look(accepted: stats.accepted, bulk: topic?.delivered ?? 0, distinct: stats.distinct, now: now)
    }

    /// Lets a little time pass; throws when there is a reason to give up.
    private func pass(milliseconds: Int = 20) throws {
        interruption.pass(milliseconds: milliseconds)
        producer.poll()
        if interruption.hasCome { throw BenchmarkError("stopped by a signal") }
        if let failure { throw failure }
        if let failure = load.failure { throw BenchmarkError("urgent notifications cannot be published: \(failure)") }
    }
}
