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
    let frames = FrameChunks()
    /// Binary lanes that notifications wait in.
    private(set) var binaryLanes = 0
    /// Their shares in what may be kept of presumed notifications are to be set anew.
    var sharesAreDue = false
    let clock: () -> MonotonicTime
    /// The partitions are this worker's; asked before each write.
    var maySend: () -> Bool = { true }
    /// The loop stood still since its last tick; asked directly before each write to a socket.
    var stoodStill: () -> Bool = { false }
    /// Lanes by the topic's index; nil: nothing was sent for the topic.
    private(set) var topics: [AppLanes?] = []
    private(set) var isHeld = false
    /// Topics over HTTP/2, made with the first.
    private(set) lazy var streams = HTTP2Topics(
        settings: settings,
        connectors: connectors,
        stage: self,
        memory: budget,
        logger: logger,
        clock: clock
    )
    var ticks = 0
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
    }

    var now: MonotonicTime { clock() }

    // MARK: Sending

    /// The lanes of a topic; made on first use.
    func lanes(of topic: Topic) -> AppLanes {
        if let known = lanes(ofTopic: topic.index) { return known }
        let index = Int(topic.index)
        while topics.count <= index { topics.append(nil) }
        let made = makeLanes(of: topic)
        topics[index] = made
        if topic.flow.lanesMade() { made.transport.suspend() }
        return made
    }

    /// The lanes of a topic; nil: nothing was sent for it.
    func lanes(ofTopic index: Int32) -> AppLanes? {
        Int(index) < topics.count ? topics[Int(index)] : nil
    }

    /// Notifications were encoded into lanes.
    func noteSent(_ count: Int, isWithoutState: Bool) {
        sent += count
        if isWithoutState { sentWithoutState += count }
    }

    /// Lets every lane with something to send do so.
    ///
    /// - Parameter isMoreAtHand: the next turn brings more, so that lanes with little wait for it, or for the tick.
    func pump(isMoreAtHand: Bool) {
        guard !isHeld else { return }
        let now = clock()
        for case let topic? in topics {
            topic.transport.pump(now: now, isMoreAtHand: isMoreAtHand)
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
        if !isHeld { pump(isMoreAtHand: false) }
    }

    private func makeLanes(of topic: Topic) -> AppLanes {
        switch topic.transport {
        case .binary:
            let lanes = makeBinaryLanes(of: topic)
            lanes.hold(isHeld)
            binaryLanes += lanes.ownLanes.count
            sharesAreDue = true
            return AppLanes(topic: topic, way: .binary(lanes))
        case .http2:
            let lane = streams.makeLane(of: topic)
            lane.hold(isHeld)
            return AppLanes(topic: topic, way: .streams(lane))
        }
    }

    private func makeBinaryLanes(of topic: Topic) -> BinaryLanes {
        BinaryLanes(
            of: topic,
            settings: settings,
            buffers: buffers,
            frames: frames,
            memory: budget,
            logger: logger,
            stage: self
        ) { [connectors] lane in
            connectors.connector(environment: topic.environment, bundleID: topic.bundleID, lane: lane)
        }
    }

    // MARK: Feeds

    /// Stops sending for feeds that are being given back; notifications in flight may still settle.
    func stopSending(_ feeds: [AppFeed]) {
        for feed in feeds {
            eachTopic(of: feed) { lanes in feed.numbers.forEach(lanes.transport.stopSending) }
        }
    }

    /// Forgets feeds that are over: nothing of them is sent again, whatever the answer.
    func forget(_ feeds: [AppFeed]) {
        for feed in feeds {
            eachTopic(of: feed) { lanes in feed.numbers.forEach(lanes.transport.forget) }
        }
    }

    /// Gives up a feed's waiting notifications without an outcome, because it is fed anew. Those with an outcome were
    /// presumed wrongly, and are only to be sent again, while the feed that takes its place is there.
    func giveUpWaiting(of feed: AppFeed) {
        eachTopic(of: feed) { lanes in
            for (reference, trouble) in lanes.transport.troubles(assignment: feed.number) {
                lanes.troubled.keep(trouble, of: reference, feed)
            }
            _ = lanes.transport.takeWaiting(assignment: feed.number) { reference in
                !feed.hasOutcome(reference.record, token: reference.token)
            }
        }
        feed.partition.feeds[feed.hash]?.follow(feed) { number in
            feed.topics.contains { lanes(ofTopic: $0.index)?.transport.keeps(assignment: number) ?? false }
        }
    }

    /// Ends notifications that wait for a token called invalid: each would cost a connection.
    func silence(_ refused: TombstoneWriter.Refused) {
        let transport = lanes(of: refused.topic).transport
        let waiting = transport.discardWaiting(token: refused.token, checksum: refused.checksum, kind: refused.kind)
        for reference in waiting {
            outcomes.silence(reference, .invalid)
        }
    }

    private func eachTopic(of feed: AppFeed, _ body: (AppLanes) -> Void) {
        for topic in feed.topics {
            if let lanes = lanes(ofTopic: topic.index) { body(lanes) }
        }
    }

    // MARK: Stopping

    /// The ends of all lanes: a revocation waits for everything before them.
    ///
    /// But not for a probe: its topic does not work, and would keep the partitions of all other topics from their next
    /// owner. That owner sends the probe's notification again.
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

    var all: [AppLanes] { topics.compactMap(\.self) }

    func log(
        _ message: Logger.Message,
        _ lanes: AppLanes,
        _ state: AppHealth.State? = nil,
        level: Logger.Level
    ) {
        var metadata: Logger.Metadata = [
            "app": .string(lanes.topic.bundleID), "environment": .string(lanes.topic.environment),
        ]
        if let reason = state?.reason {
            metadata["reason"] = .string(reason.rawValue)
            metadata["credential"] = .string(lanes.credentialName)
            let suffixes = lanes.topic.health.change { $0.refusedSuffixes }
            let refused = suffixes.map { lanes.topic.bundleID + $0 }.joined(separator: ", ")
            if !refused.isEmpty { metadata["topics"] = .string(refused) }
        }
        logger.log(level: level, message, metadata: metadata)
    }
}
