import Foundation
import KafkaClient
import LocalPipeline
import PipelineCore
import TokenState

/// Registrations and feedback of a run: what is published, how far it was applied, and at the end the comparison with
/// the state in Redis.
///
/// They are of bundles that nothing is sent to. Owned by one thread.
final class TokenTrial {
    /// Its result.
    struct Result {
        /// Acknowledged by the broker.
        var registrations: Int
        /// Tuples in push.feedback.
        var feedback: Int
        /// Tuples there that the push service never listed.
        var strangeTuples: Int
        var audit: TokenBooks.Audit
        var takeovers: TakeoverMeter
        /// Of publishing under faults.
        var seconds: Int

        /// A run that is so long sees takeovers after both signals.
        static let secondsWithTakeovers = 120

        var passes: Bool { audit.registrationsLost == 0 && audit.feedbackLost == 0 && complaints.isEmpty }

        /// Other problems, and examples of what was lost.
        var complaints: [String] {
            var complaints = audit.examples
            if registrations == 0 { complaints.append("no registration was acknowledged: this run proves nothing") }
            if feedback == 0 { complaints.append("no feedback was harvested: this run proves nothing") }
            if strangeTuples > 0 { complaints.append("\(strangeTuples) tuples are of tokens that no device has") }
            if audit.strange > 0 { complaints.append("\(audit.strange) tokens are in a state that nobody asked for") }
            if seconds >= Self.secondsWithTakeovers {
                complaints += takeovers.unmeasured.map {
                    "takeover: none from a member that had its partition was seen to its end after a \($0.rawValue)"
                }
            }
            return complaints
                + takeovers.late.map { late in
                    "takeover: \(late.place) stood still for \(late.time) after the \(late.signal.rawValue) of \(late.member)"
                }
        }
    }

    let watch: ApplierWatch
    /// Slots of Redis in which half of what is published belongs.
    let movingSlots: [Int]
    private let stream: RegistrationStream
    private let servers: ChaosServers
    private let board: Board
    private let beginning = ContinuousClock.now
    /// Rounds of looks after which everything must be applied; nil: not everything is acknowledged.
    private var looksAtEnd: Int?
    private var due: [KafkaTopicPartition: Int64] = [:]
    private var takeovers: TakeoverMeter?

    static let topics = ["com.example.post", "com.example.tide"]
    private static let environment = "sandbox"
    /// Of each topic: so many devices choose the slots that move.
    private static let movingDevices = 4
    /// Times lie in the past by so much: a registration may not be dated ahead.
    private static let ageSeconds = 7200

    init(seed: UInt64, servers: ChaosServers, board: Board) throws {
        self.servers = servers
        self.board = board
        watch = ApplierWatch(brokers: servers.broker.address)
        let tokens = try Self.topics.map {
            try servers.pipeline.tokens(of: $0, first: 0, count: ChaosServers.devices)
        }
        // The first role would make one up, and the trial could not tell slots before.
        let layout = TokenLayout(SipHash(low: seed, high: ~seed))
        try servers.write(layout)
        let slots = zip(Self.topics, tokens).map { topic, tokens in
            let keys = TokenTable.Space(environment: Self.environment, bundleID: topic).keys
            return tokens.map { Int(keys.slot(tag: layout.place(of: $0).tag).number) }
        }
        let moving = Set(slots.flatMap { $0.prefix(Self.movingDevices) })
        movingSlots = moving.sorted()
        stream = RegistrationStream(
            seed: seed,
            topics: Self.topics,
            tokens: tokens,
            start: UInt32(Date().timeIntervalSince1970) - UInt32(Self.ageSeconds),
            isHot: { moving.contains(slots[$0.topic][$0.device]) }
        )
    }

    /// Begins to publish when the board says so, and to follow.
    func start() {
        watch.start(board)
        let (stream, watch, board) = (stream, watch, board)
        let (brokers, port) = (servers.broker.address, servers.broker.port)
        Thread.detachNewThread {
            do {
                let pump = try RegistrationPump(
                    brokers: brokers,
                    stream: stream,
                    feedback: ApplierWatch.places(of: .harvester),
                    desk: board.registrationDesk(RegistrationTrim(watch: watch, brokerPort: port))
                )
                let books = pump.run()
                board.change { $0.tokens = books }
            } catch {
                board.change { $0.failure = "\(error)" }
            }
        }
    }

    /// Makes the push service find apps missing.
    func list(_ listing: FeedbackListing) async throws {
        let first = listing.first % ChaosServers.devices
        let elapsed = Int(beginning.duration(to: .now) / .seconds(1))
        try await servers.pipeline.sandbox.listFeedback(
            topic: stream.topics[listing.topic % stream.topics.count],
            first: first,
            count: min(listing.count, ChaosServers.devices - first),
            timestamp: Int64(stream.time(afterSeconds: elapsed, disorder: listing.disorder))
        )
    }

    // MARK: The end

    /// Everything published so far, and every tuple in push.feedback, is applied. To be asked until it is true, once
    /// nothing more is published.
    func isApplied() -> Bool {
        guard board.read().areRegistrationsAcknowledged else { return false }
        // The last looks may be older than the last acknowledgement.
        guard let looksAtEnd else {
            self.looksAtEnd = watch.looks + 2
            return false
        }
        return watch.looks >= looksAtEnd && watch.waiting == 0 && hasReadFeedback
    }

    /// Every tuple of which the last look knew is in the books.
    var hasReadFeedback: Bool {
        let (seen, ends) = (board.read().feedbackSeen, watch.ends)
        return ApplierWatch.places(of: .harvester).allSatisfy { seen[$0] ?? 0 >= ends[$0] ?? 0 }
    }

    /// Nothing more is waited for: what is not applied now, and no takeover later than this, counts.
    func judgeFromHere() {
        due = watch.ends
        takeovers = watch.takeovers
    }

    /// Compares with Redis.
    ///
    /// - Parameters:
    ///   - books: as they were when all threads had stopped.
    ///   - seconds: of publishing under faults.
    func result(_ books: TokenBooks, seconds: Int) throws -> Result {
        let tuplesDue = due.filter { ApplierWatch.places(of: .harvester).contains($0.key) }
        return Result(
            registrations: books.registrations,
            feedback: books.feedback,
            strangeTuples: books.strangeTuples,
            audit: books.audit(
                try books.states(redisURL: servers.pipeline.redisURL, environment: Self.environment),
                due: Dictionary(uniqueKeysWithValues: tuplesDue.map { ($0.key.partition, $0.value) })
            ),
            takeovers: takeovers ?? watch.takeovers,
            seconds: seconds
        )
    }
}
