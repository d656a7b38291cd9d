import APNsProtocol
import Logging
import NIOCore
import PipelineCore
import TokenState

/// Fifth stage: the lanes of every topic and their connections.
///
/// Verdicts of the lanes go on to the outcomes. Findings of an answer about its topic go to the topic's health, which
/// the shards of the process share. Bound to the shard's event loop.
final class Gateway {
    /// An event for the stages before this one.
    enum Event {
        /// A topic has stopped or has no certificate, and none of its notifications is in flight: unsent ones are to be
        /// fed anew.
        case topicIsQuiet(Topic)
    }

    var settings: ShardSettings
    /// Number of the shard in its process.
    let shard: Int
    let outcomes: Outcomes
    let memory: RequestMemory
    let tombstones: TombstoneWriter
    let logger: Logger
    private let connectors: any GatewayConnectors
    private let budget: ShardMemory
    private let buffers = RunBuffers()
    private let clock: () -> MonotonicTime
    /// Lanes by the topic's index; nil: nothing was sent for the topic.
    private var topics: [TopicLanes?] = []
    private var isHeld = false
    /// Topics over HTTP/2, made with the first.
    private(set) lazy var streams = StreamDesk(
        settings: settings,
        connectors: connectors,
        delegate: self,
        logger: logger,
        clock: clock
    )
    private var lastTick: MonotonicTime
    private(set) var sent = 0
    private(set) var sentWithoutState = 0
    var times = DeliveryTimes()

    init(
        settings: ShardSettings,
        shard: Int,
        connectors: any GatewayConnectors,
        outcomes: Outcomes,
        memory: RequestMemory,
        tombstones: TombstoneWriter,
        budget: ShardMemory,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.settings = settings
        self.shard = shard
        self.connectors = connectors
        self.outcomes = outcomes
        self.memory = memory
        self.tombstones = tombstones
        self.budget = budget
        self.clock = clock
        self.logger = logger
        lastTick = clock()
    }

    var now: MonotonicTime { clock() }

    // MARK: Sending

    /// The lanes that a lane belongs to.
    func lanes(of lane: GatewayLane) -> TopicLanes {
        guard let lanes = topics[Int(lane.sender)] else { preconditionFailure("a lane has its topic") }
        return lanes
    }

    /// The lanes of a topic; made on first use.
    func lanes(of topic: Topic) -> TopicLanes {
        if let known = lanes(ofTopic: topic.index) { return known }
        let index = Int(topic.index)
        while topics.count <= index { topics.append(nil) }
        let made = makeLanes(of: topic)
        topics[index] = made
        holdBackIfPaused(made)
        return made
    }

    /// The lanes of a topic; nil: nothing was sent for it.
    func lanes(ofTopic index: Int32) -> TopicLanes? {
        Int(index) < topics.count ? topics[Int(index)] : nil
    }

    /// Notifications were encoded into lanes.
    func noteSent(_ count: Int, isWithoutState: Bool) {
        sent += count
        if isWithoutState { sentWithoutState += count }
    }

    /// Lets every lane with something to send do so.
    func pump() {
        guard !isHeld else { return }
        let now = clock()
        for case let topic? in topics {
            topic.transport.pump(now: now)
        }
    }

    /// Stops sending while this worker cannot be sure of its partitions; notifications in flight may settle.
    func hold(_ isHeld: Bool) {
        guard self.isHeld != isHeld else { return }
        self.isHeld = isHeld
        streams.isHeld = isHeld
        for case let topic? in topics {
            topic.transport.hold(isHeld)
        }
        if !isHeld { pump() }
    }

    func lanesMayWrite(now: MonotonicTime) -> Bool {
        lastTick.elapsed(until: now) < settings.commitPatience
    }

    private func makeLanes(of topic: Topic) -> TopicLanes {
        switch topic.transport {
        case .binary:
            return makeBinaryLanes(of: topic)
        case .http2:
            let lane = streams.makeLane(of: topic)
            lane.hold(isHeld)
            return TopicLanes(topic: topic, way: .streams(lane))
        }
    }

    private func makeBinaryLanes(of topic: Topic) -> TopicLanes {
        // Lanes of probation come after the others, one for each.
        let count = settings.connectionsPerTopic
        var logger = logger
        logger[metadataKey: "topic"] = .string(topic.bundleID)
        logger[metadataKey: "environment"] = .string(topic.environment)
        let lanes = (0..<2 * count).map { number in
            let lane = GatewayLane(
                sender: topic.index,
                number: number,
                limits: topic.limits,
                connector: connectors.connector(
                    environment: topic.environment,
                    bundleID: topic.bundleID,
                    lane: number
                ),
                buffers: buffers,
                random: settings.randomBits,
                logger: logger,
                delegate: self
            )
            lane.isHeld = isHeld
            return lane
        }
        let binary = BinaryLanes(
            lanes: Array(lanes.prefix(count)),
            probation: Array(lanes.dropFirst(count)),
            patience: settings.standstillPatience,
            acceptedTokenBits: settings.acceptedTokenBits,
            memory: budget
        )
        return TopicLanes(topic: topic, way: .binary(binary))
    }

    // MARK: Time

    /// Lets time pass in the lanes, and acts on topics that do not work.
    ///
    /// - Parameter isLate: the event loop was held up, so that an answer may lie unread in a socket: silence proves
    ///   nothing yet.
    func tick(now: MonotonicTime, isLate: Bool) -> [Event] {
        var events: [Event] = []
        lastTick = now
        for case let topic? in topics {
            if !isLate {
                topic.transport.tick(now: now)
                checkStandstill(of: topic, now: now)
            }
            if let event = tend(topic, now: now) { events.append(event) }
        }
        if !isLate { streams.tick(now: now) }
        return events
    }

    private func checkStandstill(of topic: TopicLanes, now: MonotonicTime) {
        guard topic.sending == .all || topic.sending == .probing else { return }
        if topic.transport.standsStill(isHeld: isHeld, now: now) { fail(topic, .unreachable, now: now) }
    }

    /// Acts on the state of a topic's health.
    private func tend(_ lanes: TopicLanes, now: MonotonicTime) -> Event? {
        let random = settings.randomBits
        let shard = shard
        let waitsForBudget = lanes.sending == .probing && !isHeld && lanes.transport.isWaitingForBudget
        let state = lanes.topic.health.change { health in
            if waitsForBudget { health.probeWaitsForBudget(shard: shard, now: now) }
            health.tick(now: now, random: random())
            return health.state
        }
        if lanes.topic.control.isPaused || lanes.isRecalled { return tendHeldBack(lanes, state) }
        switch state {
        case .works:
            guard lanes.hasCertificate else { return waitForCertificate(lanes) }
            if lanes.sending != .all { resume(lanes) }
        case .probing(_, shard, _):
            guard lanes.hasCertificate || lanes.transport.inFlightCount > 0 else {
                endProbe(of: lanes.topic)
                return nil
            }
            if lanes.sending == .probing { lanes.transport.admitProbe() } else { lanes.sending = .probing }
        case .stopped, .probing:
            return suspend(lanes, state, now: now)
        }
        return nil
    }

    private func resume(_ lanes: TopicLanes) {
        lanes.sending = .all
        lanes.transport.admitAll()
        if !lanes.isHeldBack { log("topic works again", lanes, level: .notice) }
        lanes.isHeldBack = false
    }

    private func suspend(_ lanes: TopicLanes, _ state: TopicHealth.State, now: MonotonicTime) -> Event? {
        // Also if it stopped while an operator held it back.
        let isNews = lanes.sending == .all || lanes.isHeldBack && lanes.sending != .probing
        if lanes.sending == .all || lanes.sending == .probing { lanes.sending = .suspending }
        if isNews {
            lanes.isHeldBack = false
            log("topic does not work; it lags and is probed", lanes, state, level: .critical)
        }
        lanes.transport.suspend()
        guard lanes.transport.isQuiet else { return nil }
        if lanes.sending == .suspending { return .topicIsQuiet(lanes.topic) }
        guard lanes.transport.waitingCount > 0, lanes.hasCertificate, !isHeld, case .stopped(_, let until) = state,
            until <= now
        else { return nil }
        let random = settings.randomBits
        if lanes.topic.health.change({ $0.beginProbe(shard: shard, now: now, random: random()) }) {
            lanes.sending = .probing
            lanes.transport.admitProbe()
        }
        return nil
    }

    /// Lets lanes with a connection go on. What waits in the others is fed anew: to be sent when a certificate comes,
    /// or as dead letters.
    private func waitForCertificate(_ lanes: TopicLanes) -> Event? {
        if lanes.sending != .held { lanes.sending = .suspending }
        return lanes.sending == .suspending && lanes.transport.isStranded ? .topicIsQuiet(lanes.topic) : nil
    }

    /// Notes whether the bundle has a certificate.
    func setCertificate(isThere: Bool, of topic: Topic) {
        guard let lanes = lanes(ofTopic: topic.index), lanes.hasCertificate != isThere else { return }
        lanes.hasCertificate = isThere
        // A lane that waits for a probe is given up as well.
        if !isThere, lanes.sending == .held { lanes.sending = .suspending }
    }

    /// The unsent notifications of a quiet topic were given up. One record may wait for a probe.
    func topicWasRewound(_ topic: Topic) {
        let lanes = lanes(of: topic)
        lanes.isRecalled = false
        if lanes.sending == .suspending { lanes.sending = .held }
    }

    /// Ends the probe of a topic without anything to send, here or in the stages before.
    func endProbe(of topic: Topic) {
        let now = clock()
        let random = settings.randomBits
        topic.health.change { $0.endProbe(shard: shard, now: now, random: random()) }
    }

    /// This shard probes the topic and has none of its notifications in its lanes.
    func isIdleProber(_ topic: Topic) -> Bool {
        guard let lanes = lanes(ofTopic: topic.index), lanes.sending == .probing else { return false }
        return lanes.transport.inFlightCount == 0 && lanes.transport.waitingCount == 0
    }

    /// The feeding that a topic may get, for sending now or for a probe.
    func feeding(of topic: Topic) -> TopicAccount.Feeding {
        guard let lanes = lanes(ofTopic: topic.index) else {
            // Nothing was sent for the topic here; another shard may know better.
            return topic.health.state == .works ? .all : .notifications(1)
        }
        switch lanes.sending {
        case .all: return .all
        case .suspending: return .nothing
        case .held: return .notifications(1)
        case .probing:
            if case .probing(.tokensDoubted, _, _) = topic.health.state {
                return .notifications(ShardLimits.probeSample)
            }
            return .notifications(1)
        }
    }

    private func fail(_ lanes: TopicLanes, _ reason: TopicHealth.Reason, now: MonotonicTime) {
        let random = settings.randomBits
        lanes.topic.health.change { $0.failed(reason, now: now, random: random()) }
    }

    // MARK: Feeds

    /// Stops sending for feeds that are being given back; notifications in flight may still settle.
    func stopSending(_ feeds: [TopicFeed]) {
        for feed in feeds {
            eachTopic(of: feed) { $0.transport.stopSending(assignment: feed.number) }
        }
    }

    /// Forgets feeds that are over: nothing of them is sent again, whatever the answer.
    func forget(_ feeds: [TopicFeed]) {
        for feed in feeds {
            eachTopic(of: feed) { $0.transport.forget(assignment: feed.number) }
        }
    }

    /// Gives up a feed's waiting notifications without an outcome, because it is fed anew. Those with an outcome were
    /// presumed wrongly, and are only to be sent again.
    func giveUpWaiting(of feed: TopicFeed) {
        eachTopic(of: feed) { lanes in
            for (reference, trouble) in lanes.transport.troubles where reference.assignment == feed.number {
                lanes.troubled.keep(trouble, of: reference, feed)
            }
            _ = lanes.transport.takeWaiting { reference in
                reference.assignment == feed.number && !feed.hasOutcome(reference.record, token: reference.token)
            }
        }
    }

    /// Ends notifications that wait for a token called invalid: each would cost a connection.
    func silence(_ refused: TombstoneWriter.Refused) {
        let transport = lanes(of: refused.topic).transport
        let waiting = transport.discardWaiting(token: refused.token, checksum: refused.checksum)
        for reference in waiting {
            outcomes.silence(reference, .invalid)
        }
    }

    private func eachTopic(of feed: TopicFeed, _ body: (TopicLanes) -> Void) {
        for topic in feed.topics {
            if let lanes = lanes(ofTopic: topic.index) { body(lanes) }
        }
    }

    // MARK: Stopping

    /// The ends of all lanes: a revocation waits for everything before them.
    ///
    /// But not for a probe: its topic does not work, and would keep partitions of all others from their next owner, who
    /// sends one notification again.
    func barriers() -> [LaneBarrier] {
        topics.compactMap(\.self).filter { $0.sending != .probing }.flatMap { $0.transport.barriers() }
    }

    /// Proves notifications in flight by sentinels: faster than silence, and confirmed instead of presumed.
    func finish() {
        let now = clock()
        for case let topic? in topics {
            topic.transport.finish(now: now)
        }
    }

    func close() {
        for case let topic? in topics {
            topic.transport.close()
        }
        streams.close()
    }

    // MARK: Report

    /// Notifications handed to connections and not settled.
    var inFlightCount: Int { topics.reduce(0) { $0 + ($1?.transport.inFlightCount ?? 0) } }

    var all: [TopicLanes] { topics.compactMap(\.self) }

    private func log(
        _ message: Logger.Message,
        _ lanes: TopicLanes,
        _ state: TopicHealth.State? = nil,
        level: Logger.Level
    ) {
        var metadata: Logger.Metadata = [
            "topic": .string(lanes.topic.bundleID), "environment": .string(lanes.topic.environment),
        ]
        if let reason = state?.reason { metadata["reason"] = .string(reason.rawValue) }
        logger.log(level: level, message, metadata: metadata)
    }
}
