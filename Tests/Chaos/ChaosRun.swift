import Foundation
import Glibc
import LocalPipeline
import Workbench

/// One run: everything is started, the schedule played while notifications and registrations are published, and at the
/// end the books are compared with the truth.
final class ChaosRun {
    private let options: ChaosOptions
    private let board: Board
    private let servers: ChaosServers
    private let fleets: ChaosFleets
    private let tokens: TokenTrial
    private let mover: SlotMover?
    private let commits: CommitWatch
    /// Looks only where nothing is disturbed.
    let soak = SoakMeter()
    /// File in which the sandbox writes what it accepts.
    private let acceptedLog: String
    private var actions: [String: Int] = [:]
    private var nextWord = ContinuousClock.now
    private let start = ContinuousClock.now
    private var brokerStoppedAt: UInt32 = 0

    /// `worker.commit-patience`, a third of the session, and the time since the last commit.
    private static let patienceSeconds: UInt32 = 3
    /// Longest time that bytes lie between a worker and the sandbox, which some faults prolong. Over HTTP/2 a body may
    /// wait for its connection's window until its request is given up.
    private static func delaySeconds(_ options: ChaosOptions) -> UInt32 {
        switch options.transport {
        case .binary: options.isWithholding ? 15 : 3
        case .http2: FaultMenu.requestTimeoutSeconds + 1
        }
    }
    /// Longest silence while the last outcomes are awaited.
    private static let silence = Duration.seconds(60)
    private static let startPatience = Duration.seconds(60)
    /// Longest time that the broker takes for what lies in its sockets.
    private static let answered = Duration.seconds(1)
    /// Time that clients take to find a broker again, and groups to form anew.
    private static let brokerSettling = Duration.seconds(12)
    private static let redisSettling = Duration.seconds(5)

    /// Starts broker, Redis and sandbox.
    init(_ options: ChaosOptions, directory: String, board: Board) throws {
        self.options = options
        self.board = board
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        say("starting broker, Redis and sandbox in \(directory)")
        acceptedLog = "\(directory)/accepted.log"
        let servers = try ChaosServers(options, directory: directory, acceptedLog: acceptedLog)
        self.servers = servers
        do {
            let tokens = try TokenTrial(seed: options.seed, servers: servers, board: board)
            self.tokens = tokens
            mover = servers.cluster.map { SlotMover(nodes: $0, slots: tokens.movingSlots) }
        } catch {
            servers.stop()
            throw error
        }
        commits = CommitWatch(
            brokers: servers.broker.address,
            partitions: ChaosServers.partitions,
            history: CommitHistory(
                delaySeconds: Self.delaySeconds(options),
                patienceSeconds: Self.patienceSeconds
            )
        )
        fleets = ChaosFleets(options, servers: servers, watch: tokens.watch)
    }

    /// Ends everything that was started. Idempotent.
    func stop() {
        // One that stands still would not hear that it is to end.
        fleets.thawWorkers()
        fleets.resumeAll()
        servers.stop()
    }

    func run() async throws -> ChaosReport {
        fleets.meter.start(board)
        commits.start(board)
        try fleets.start()
        try await loseApps()
        try startPump()
        tokens.start()
        try wait(for: "partitions of the workers", within: Self.startPatience) {
            board.read().isAssigned && fleets.allShardsHavePartitions
        }
        say(
            "publishing \(options.rate) notifications/s for \(options.seconds) s over \(options.transport.rawValue), "
                + "seed \(options.seed)"
        )
        board.change { $0.phase = .publishing }
        if options.isSoak { soak.start(fleets.running, board) }
        try await play(options.schedule)
        say("everything is as it was; waiting for the last outcomes and changes of the token state")
        board.change { $0.phase = .draining }
        try drain("outcomes", news: [board.read().outcomes, board.read().published], until: board.read().isDrained)
        try drain("changes of the token state", news: tokens.watch.committed, until: tokens.isApplied())
        tokens.judgeFromHere()
        return try await settle()
    }

    // MARK: Chapters

    /// One device in a hundred has lost the app: they are accepted and reported as feedback, or over HTTP/2 refused,
    /// and silent in the end.
    private func loseApps() async throws {
        for topic in options.topics {
            try await servers.pipeline.sandbox.setDevices(
                topic: topic,
                first: 0,
                count: ChaosServers.devices / 100,
                state: "uninstalled"
            )
        }
    }

    private func startPump() throws {
        let topics = options.topics
        let stream = RequestStream(
            seed: options.seed,
            topics: topics,
            tokens: try topics.map { try servers.pipeline.tokens(of: $0, first: 0, count: ChaosServers.devices) },
            campaigns: options.campaigns,
            usesLanes: options.usesLanes
        )
        let settings = Pump.Settings(
            brokers: servers.broker.address,
            brokerPort: servers.broker.port,
            partitions: ChaosServers.partitions,
            rate: options.rate,
            campaigns: options.campaigns,
            quotas: options.quotas
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
            if let name = event.action.name { actions[name, default: 0] += 1 }
            // Once a second, whatever else happens.
            if case .listFeedback = event.action {} else { say("t=\(elapsedSeconds) \(event.action)") }
            try await carryOut(event.action)
        }
        try wait(until: beginning + .seconds(options.seconds))
    }

    private func carryOut(_ action: ChaosAction) async throws {
        switch action {
        case .kill(let role, let pick): fleets.kill(role, pick)
        case .stop(let role, let pick): fleets.stop(role, pick)
        case .start(let role): try fleets.start(role)
        case .freeze(let pick): try fleets.freezeWorker(pick)
        case .thaw: fleets.thawWorkers()
        case .stopBroker: try stopBroker()
        case .startBroker: try startBroker()
        case .stopRedis:
            tokens.watch.serverLeft()
            servers.stopRedis()
        case .startRedis:
            try servers.startRedis()
            tokens.watch.serversReturned(settling: Self.redisSettling)
        case .cutReplica(let pick): try servers.nodes?.cutReplica(pick)
        case .killMaster:
            tokens.watch.serverLeft()
            servers.nodes?.killMaster()
        case .reviveMaster:
            try servers.nodes?.reviveMaster()
            tokens.watch.serversReturned(settling: Self.redisSettling)
        case .openSlot(let pick, let target): try mover?.open(pick, to: target)
        case .closeSlot: try mover?.close()
        case .listFeedback(let listing): try await tokens.list(listing)
        case .setFault(let fault): try await servers.pipeline.sandbox.setFault(fault.body)
        case .clearFaults: try await servers.pipeline.sandbox.setFault(#"{"clear":true}"#)
        }
    }

    /// Stops the broker while nothing is on its way to it: this one writes its data down first and ends then, and what
    /// it acknowledges in between is lost, unlike with Kafka. So all producers stand still for the moment, and go on to
    /// find the broker gone.
    private func stopBroker() throws {
        board.change {
            $0.isHeldBack = true
            $0.isBrokerUp = false
        }
        tokens.watch.serverLeft()
        fleets.brokerLeaves()
        defer {
            fleets.resumeAll()
            board.change { $0.isHeldBack = false }
        }
        try fleets.haltAll()
        try wait(for: "the producers' acknowledgements", within: Self.startPatience) {
            board.read().isAcknowledged && board.read().areRegistrationsAcknowledged
        }
        try wait(until: .now + Self.answered)
        guard servers.broker.stop() else {
            throw ChaosError(
                "the broker did not write its data down within \(BrokerServer.patience): the machine is too slow for "
                    + "this --rate, and the run would blame the pipeline for what the broker lost"
            )
        }
        try fleets.checkHalted()
        brokerStoppedAt = CommitWatch.now
    }

    private func startBroker() throws {
        let began = CommitWatch.now
        commits.note(CommitHistory.Outage(start: brokerStoppedAt, end: began))
        try servers.broker.start()
        let state = board.read()
        try servers.broker.checkEnds(of: state.seen.merging(state.feedbackSeen) { $1 })
        fleets.brokerForgotMembers(since: began)
        tokens.watch.serversReturned(settling: Self.brokerSettling)
        board.change { $0.isBrokerUp = true }
    }

    /// Waits until all of something has come, or nothing comes any more.
    private func drain<News: Equatable>(
        _ what: String,
        news: @autoclosure () -> News,
        until isDone: @autoclosure () -> Bool
    ) throws {
        var last = news()
        var lastNews = ContinuousClock.now
        while !isDone() {
            try pass()
            let latest = news()
            if latest != last { lastNews = .now }
            last = latest
            guard lastNews.duration(to: .now) < Self.silence else {
                return say("no \(what) have come for \(Self.silence)")
            }
        }
    }

    /// Stops the roles, and compares.
    private func settle() async throws -> ChaosReport {
        fleets.stopAll()
        // A harvester that is told to stop finishes its reading first.
        let looks = tokens.watch.looks + 2
        try wait(for: "the last feedback", within: Self.startPatience) {
            tokens.watch.looks >= looks && tokens.hasReadFeedback
        }
        let stats = try await servers.pipeline.sandbox.stats()
        board.change { $0.phase = .finished }
        try wait(for: "the end of the auditors", within: Self.startPatience) {
            board.read().result != nil && board.read().tokens != nil
        }
        guard let books = board.read().result, let tokenBooks = board.read().tokens else {
            throw ChaosError("no books")
        }
        // Written out when it stops.
        servers.pipeline.stopSandbox()
        return try ChaosReport(
            options: options,
            books: books,
            acceptedLog: acceptedLog,
            commits: commits.seen,
            stats: stats,
            tokens: try tokens.result(tokenBooks, seconds: options.isSoak ? 0 : options.seconds),
            fleets: fleets,
            actions: actions,
            longestOutage: servers.broker.longestOutage
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
        fleets.keepHouse(isBrokerUp: state.isBrokerUp)
        try mover?.moveNextKey()
        guard nextWord <= .now else { return }
        nextWord = .now + .seconds(10)
        say(
            "t=\(elapsedSeconds) handed over \(state.handedOver), published \(state.published), outcomes \(state.outcomes), "
                + "registrations \(state.registrations), feedback \(state.feedback), \(tokens.watch.waiting) to apply, "
                + "\(fleets[.worker].running.count) workers"
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
