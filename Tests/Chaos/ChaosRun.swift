import Foundation
import Glibc
import LocalPipeline
import Workbench

/// One run: everything is started, the schedule played while notifications are published, and at the end the books are
/// compared with the truth.
final class ChaosRun {
    /// The way the workers' group shares out partitions, as librdkafka names it.
    enum Assignment: String, CaseIterable, Sendable {
        /// Eager: all are given back and shared out anew.
        case range
        /// Cooperative: only those that move.
        case cooperativeSticky = "cooperative-sticky"
    }

    struct Options: Sendable {
        var seed: UInt64 = 1
        /// Of publishing under faults.
        var seconds = 300
        /// Notifications per second.
        var rate = 20_000
        /// With the faults of ``FaultMenu/withholding``, too.
        var isWithholding = false
        /// Others use the machine as well.
        var isBusy = false
        var assignment = Assignment.range
        var executable: String
    }

    private let options: Options
    private let directory: String
    private let board: Board
    private let broker: BrokerServer
    private let pipeline: LocalPipeline
    private let fleet: WorkerFleet
    /// Registrar and harvester.
    private var others: [ChildProcess] = []
    private var actions: [String: Int] = [:]
    private var nextWord = ContinuousClock.now
    private let start = ContinuousClock.now

    private static let partitions = 12
    private static let devices = 20_000
    /// File in which the sandbox writes what it accepts.
    private let acceptedLog: String
    private let meter = WorkerMeter()
    private let commits: CommitWatch
    private var brokerStoppedAt: UInt32 = 0

    private static let worker = """
        {shards: 2, connections-per-topic: 2, \
        confirmation-window: \(FaultMenu.confirmationWindowMilliseconds)ms, sentinel-timeout: 4s, \
        connection-max-age: 16s, connections-per-minute: 6000, \
        park-after: 5s, park-probe-base: 1s, park-probe-cap: 4s}
        """
    /// `worker.commit-patience`, a third of the session, and the time since the last commit.
    private static let patienceSeconds: UInt32 = 3
    /// Longest time that bytes lie between a worker and the sandbox, which some faults prolong.
    private static func delaySeconds(isWithholding: Bool) -> UInt32 { isWithholding ? 15 : 3 }
    /// Longest silence while the last outcomes are awaited.
    private static let silence = Duration.seconds(60)
    private static let startPatience = Duration.seconds(60)
    /// Longest time that the broker takes for what lies in its sockets.
    private static let answered = Duration.seconds(1)

    /// Starts broker, Redis and sandbox.
    init(_ options: Options, directory: String, board: Board) throws {
        self.options = options
        self.directory = directory
        self.board = board
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        say("starting broker, Redis and sandbox in \(directory)")
        broker = try BrokerServer(directory: directory)
        var setUp = LocalPipeline.Options()
        setUp.kafka = broker.address
        setUp.devices = Self.devices
        setUp.partitions = Self.partitions
        // The broker writes everything down when it stops and reads it when it starts: the smaller the sooner.
        setUp.kafkaProperties = ", compression.codec: lz4"
        setUp.worker = Self.worker
        acceptedLog = "\(directory)/accepted.log"
        setUp.sandboxArguments = ["--accepted-log", acceptedLog]
        do {
            pipeline = try LocalPipeline(setUp, executable: options.executable, directory: directory)
        } catch {
            broker.stop()
            throw error
        }
        commits = CommitWatch(
            brokers: broker.address,
            partitions: Self.partitions,
            history: CommitHistory(
                partitions: Self.partitions,
                delaySeconds: Self.delaySeconds(isWithholding: options.isWithholding),
                patienceSeconds: Self.patienceSeconds
            )
        )
        fleet = WorkerFleet(
            pipeline: pipeline,
            assignment: options.assignment,
            brokerPort: broker.port,
            meter: meter
        )
    }

    /// Ends everything that was started. Idempotent.
    func stop() {
        pipeline.stop()
        broker.stop()
    }

    func run() async throws -> ChaosReport {
        meter.start(board)
        commits.start(board)
        for _ in 0..<ChaosSchedule.workersAtStart { try fleet.start() }
        others = [try pipeline.startRegistrar(), try pipeline.startHarvester()]
        try await loseApps()
        try startPump()
        try wait(for: "partitions of the workers", within: Self.startPatience) {
            board.read().isAssigned
                && WorkerLog.shardsWithPartitions(in: fleet.running.map(\.process))
                    == fleet.running.count * LocalPipeline.Options.shards
        }
        say("publishing \(options.rate) notifications/s for \(options.seconds) s, seed \(options.seed)")
        board.change { $0.phase = .publishing }
        let menu = FaultMenu.usual + (options.isWithholding ? FaultMenu.withholding : [])
        try await play(ChaosSchedule(seed: options.seed, seconds: options.seconds, menu: menu))
        say("everything is as it was; waiting for the last outcomes")
        board.change { $0.phase = .draining }
        try drain()
        return try await settle()
    }

    // MARK: Chapters

    /// One device in a hundred has lost the app: they are accepted, reported as feedback, and silent in the end.
    private func loseApps() async throws {
        for topic in pipeline.options.topics {
            try await pipeline.sandbox.setDevices(
                topic: topic,
                first: 0,
                count: Self.devices / 100,
                state: "uninstalled"
            )
        }
    }

    private func startPump() throws {
        let topics = pipeline.options.topics
        let stream = RequestStream(
            seed: options.seed,
            topics: topics,
            tokens: try topics.map { try pipeline.tokens(of: $0, first: 0, count: Self.devices) }
        )
        let settings = Pump.Settings(
            brokers: broker.address,
            brokerPort: broker.port,
            partitions: Self.partitions,
            rate: options.rate
        )
        let board = board
        Thread.detachNewThread {
            do {
                try Pump(settings, stream: stream, board: board).run()
            } catch {
                board.change { $0.failure = "\(error)" }
            }
        }
    }

    private func play(_ schedule: ChaosSchedule) async throws {
        let beginning = ContinuousClock.now
        for event in schedule.events {
            try wait(until: beginning + .milliseconds(event.milliseconds))
            try await carryOut(event.action)
        }
        try wait(until: beginning + .seconds(options.seconds))
    }

    private func carryOut(_ action: ChaosSchedule.Action) async throws {
        if let name = action.name { actions[name, default: 0] += 1 }
        say("t=\(elapsedSeconds) \(action)")
        switch action {
        case .killWorker(let pick): fleet.kill(pick)
        case .stopWorker(let pick): fleet.stop(pick)
        case .startWorker: try fleet.start()
        case .stopBroker: try stopBroker()
        case .startBroker:
            commits.note(CommitHistory.Outage(start: brokerStoppedAt, end: CommitWatch.now))
            try broker.start()
            fleet.brokerForgotMembers()
            board.change { $0.isBrokerUp = true }
        case .stopRedis: pipeline.stopRedis()
        case .startRedis: try pipeline.startRedis()
        case .setFault(let fault): try await pipeline.sandbox.setFault(fault.body)
        case .clearFaults: try await pipeline.sandbox.setFault(#"{"clear":true}"#)
        }
    }

    /// Stops the broker while nothing is on its way to it: this one writes its data down first and ends then, and what
    /// it acknowledges in between is lost, unlike with Kafka. So everybody who produces stands still for the moment,
    /// and goes on to find the broker gone.
    private func stopBroker() throws {
        board.change {
            $0.isHeldBack = true
            $0.isBrokerUp = false
        }
        let clients = fleet.running.map(\.process) + fleet.stopping.map(\.process) + others
        for client in clients { client.signal(SIGSTOP) }
        defer {
            for client in clients { client.signal(SIGCONT) }
            board.change { $0.isHeldBack = false }
        }
        try wait(for: "the producer's acknowledgements", within: Self.startPatience) { board.read().isAcknowledged }
        try wait(until: .now + Self.answered)
        broker.stop()
        brokerStoppedAt = CommitWatch.now
    }

    /// Waits until every notification has its outcome, or nothing comes any more.
    private func drain() throws {
        var last = board.read()
        var lastNews = ContinuousClock.now
        while !board.read().isDrained {
            try pass()
            let state = board.read()
            if state.outcomes != last.outcomes || state.published != last.published { lastNews = .now }
            last = state
            guard lastNews.duration(to: .now) < Self.silence else {
                return say("nothing has come for \(Self.silence)")
            }
        }
    }

    /// Stops the workers, and compares.
    private func settle() async throws -> ChaosReport {
        fleet.stopAll()
        let stats = try await pipeline.sandbox.stats()
        board.change { $0.phase = .finished }
        var result: ChaosBooks?
        try wait(for: "the end of the auditor", within: Self.startPatience) {
            result = board.read().result
            return result != nil
        }
        guard var books = result else { throw ChaosError("no books") }
        var complaints = fleet.complaints
        if books.disordered > 0 {
            complaints.append("\(books.disordered) records stand out of order in the broker's log")
        }
        // Written out when it stops.
        pipeline.stopSandbox()
        let truth = try TruthAudit(
            file: acceptedLog,
            books: &books,
            commits: commits.seen,
            refusals: stats.faults["error-response"] ?? 0
        )
        if truth.accepted != stats.accepted {
            complaints.append("\(stats.accepted) were accepted, and \(truth.accepted) stand in the log of them")
        }
        complaints += truth.examples
        complaints += books.examplesOfMissing(limit: 10).map { "no outcome: \($0)" }
        if commits.seen.unreadable > 0 {
            complaints.append("\(commits.seen.unreadable) committed positions have metadata that no version writes")
        }
        if books.strange > 0 {
            complaints.append("\(books.strange) outcomes or acceptances belong to nothing published")
        }
        return ChaosReport(
            seed: options.seed,
            seconds: options.seconds,
            books: books,
            truth: truth,
            gatewayDistinct: stats.distinct,
            resent: fleet.sum(of: "resent", metric: WorkerMeter.counters[0]),
            presumedWrongCounted: fleet.sum(of: "presumed-wrong", metric: WorkerMeter.counters[1]),
            maxUnconfirmedBytes: meter.mostInFlight.map { $0 * Pump.largestFrameBytes },
            faults: actions.merging(stats.faults) { $0 + $1 },
            workersStarted: fleet.startedCount,
            longestOutageSeconds: broker.longestOutage / .seconds(1),
            mayPresumeWrongly: options.isWithholding || options.isBusy,
            complaints: complaints
        )
    }

    // MARK: Waiting

    private func wait(until time: ContinuousClock.Instant) throws {
        while ContinuousClock.now < time { try pass(upTo: time) }
    }

    private func wait(for what: String, within limit: Duration, _ condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            guard ContinuousClock.now < deadline else { throw ChaosError("waited \(limit) for \(what)") }
            try pass()
        }
    }

    /// Lets a little time pass, and does what is due beside the schedule.
    private func pass(upTo time: ContinuousClock.Instant = .now + .milliseconds(50)) throws {
        let left = ContinuousClock.now.duration(to: time) / .milliseconds(1)
        try board.pass(milliseconds: max(1, min(50, Int(left))))
        let state = board.read()
        fleet.keepHouse(isBrokerUp: state.isBrokerUp)
        guard nextWord <= .now else { return }
        nextWord = .now + .seconds(10)
        say(
            "t=\(elapsedSeconds) handed over \(state.handedOver), published \(state.published), outcomes \(state.outcomes), "
                + "\(fleet.running.count) workers"
        )
    }

    private var elapsedSeconds: String {
        String(format: "%.1f", start.duration(to: .now) / .seconds(1))
    }
}

/// Says something on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("chaos: \(text)\n".utf8))
}
