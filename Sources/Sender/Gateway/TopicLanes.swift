import APNsProtocol
import PipelineCore

/// The lanes of one topic in a shard, and the shard's findings from them.
///
/// Bound to the shard's event loop.
final class TopicLanes {
    /// The mode of sending for the topic in this shard.
    enum Sending: Equatable {
        case all
        /// The topic has stopped: connections are ended. Or it has no certificate any more: none is opened.
        case suspending
        /// Nothing is in flight, and unsent notifications were given up to be fed anew.
        case held
        /// This shard probes, over one lane.
        case probing
    }

    let topic: Topic
    /// The lanes that notifications of a token wait in; chosen by ``affinity``.
    let ownLanes: [GatewayLane]
    /// All lanes, those of probation first: a notification there is older than those that wait in its former lane.
    let lanes: [GatewayLane]
    let probations: [Probation]
    let affinity: TokenAffinity
    var sending = Sending.all
    /// The bundle has a certificate. Without one no connection is opened; those that are open go on.
    var hasCertificate = true
    /// The clock for each of ``lanes``.
    var standstills: [LaneStandstill]
    var counters = WorkerTopicCounters()
    var troubled = TroubledNotifications()
    /// Distinguishes newcomers from other tokens while many are called invalid; nil until one was.
    private(set) var acceptedTokens: AcceptedTokens?
    private let acceptedTokenBits: Int
    var probationSwitch = ProbationSwitch()

    /// - Parameters:
    ///   - lanes: one connection each.
    ///   - probation: as many lanes.
    ///   - patience: the longest standstill of a lane.
    ///   - acceptedTokenBits: see ``AcceptedTokens/init(indexBits:)``.
    init(
        topic: Topic,
        lanes: [GatewayLane],
        probation: [GatewayLane],
        patience: Duration,
        acceptedTokenBits: Int
    ) {
        precondition(lanes.count == probation.count)
        self.topic = topic
        self.acceptedTokenBits = acceptedTokenBits
        ownLanes = lanes
        probations = zip(lanes, probation).map { Probation(of: $0, lane: $1) }
        self.lanes = probation + lanes
        affinity = TokenAffinity(lanes: lanes.count)
        standstills = Array(repeating: LaneStandstill(patience: patience), count: self.lanes.count)
    }

    var inFlightCount: Int { lanes.reduce(0) { $0 + $1.machine.inFlightCount } }
    var waitingCount: Int { lanes.reduce(0) { $0 + $1.machine.waitingCount } }
    var openConnections: Int { lanes.reduce(0) { $0 + ($1.machine.phase == .open ? 1 : 0) } }

    /// No notification of the topic is with a gateway, and no connection is open or being opened.
    var isQuiet: Bool {
        lanes.allSatisfy { lane in
            lane.machine.inFlightCount == 0 && lane.machine.phase != .open && lane.machine.phase != .connecting
        }
    }

    /// Nothing is in flight, and all that waits needs a new connection.
    var isStranded: Bool {
        lanes.allSatisfy { lane in
            switch lane.machine.phase {
            case .open: lane.machine.isDrained
            case .connecting: false
            case .disconnected, .waiting: true
            }
        }
    }

    /// Gives back the record that waits for a probe, which is fed again later.
    func giveWay() {
        if sending == .held { sending = .suspending }
    }

    /// Encodes a notification into the lane of its token.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        payload: UnsafeRawBufferPointer,
        expiration: UInt32,
        priority: NotificationPriority
    ) {
        let lane = ownLanes[affinity.lane(checksum: checksum)]
        let bytes = NotificationFrame.command2Bytes(tokenBytes: token.count, payloadBytes: payload.count)
        let room = lane.machine.reserve(bytes)
        NotificationFrame.encodeCommand2(
            identifier: lane.machine.nextIdentifier,
            token: token,
            payload: payload,
            expiration: expiration,
            priority: priority,
            into: room
        )
        lane.machine.commit(reference, bytes: bytes, checksum: checksum)
    }

    /// Patches a frame for a notification into the lane of its token.
    @inline(__always)
    func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        template: borrowing FrameTemplate
    ) {
        let lane = ownLanes[affinity.lane(checksum: checksum)]
        let room = lane.machine.reserve(template.count)
        template.write(identifier: lane.machine.nextIdentifier, token: token, into: room)
        lane.machine.commit(reference, bytes: template.count, checksum: checksum)
    }

    /// Adds earlier trouble to the notification appended last: it may have been sent before it was fed anew.
    func inheritTrouble(_ reference: NotificationReference, checksum: UInt32, _ feed: TopicFeed) {
        guard let trouble = troubled.takeTrouble(of: reference, feed) else { return }
        ownLanes[affinity.lane(checksum: checksum)].machine.inheritTrouble(trouble)
    }

    /// The gateway accepted a part of a lane's log.
    func accepted(_ range: Range<UInt64>, of lane: GatewayLane) {
        acceptedTokens?.insert(range, of: lane.machine.log)
    }

    /// The gateway called a token invalid.
    func noteInvalidToken(now: MonotonicTime) {
        if acceptedTokens == nil { acceptedTokens = AcceptedTokens(indexBits: acceptedTokenBits) }
        probationSwitch.noteInvalid(now: now)
        guard probationSwitch.isOn(now: now) else { return }
        for probation in probations { probation.begin() }
    }

    /// The gateway refused a token after all.
    func forgetAccepted(checksum: UInt32) {
        acceptedTokens?.remove(checksum: checksum)
    }

    /// Sorts the next notifications of a lane.
    func sort(_ lane: GatewayLane, now: MonotonicTime) {
        if acceptedTokens == nil { acceptedTokens = AcceptedTokens(indexBits: acceptedTokenBits) }
        guard let accepted = acceptedTokens.take() else { return }
        counters.onProbation += probations[lane.number].sort(
            isOn: probationSwitch.isOn(now: now),
            accepted: accepted,
            now: now
        )
        acceptedTokens = consume accepted
    }

    /// Ends probation when no token has been called invalid for a while.
    func endProbation(now: MonotonicTime) {
        guard !probationSwitch.isOn(now: now) else { return }
        for probation in probations { probation.end() }
    }

    /// The history of a connection before the refusal of a token, as known from the lanes.
    func standing(of refusal: LaneVerdict.Refusal, on lane: GatewayLane) -> TopicHealth.RefusalStanding {
        guard !refusal.isBehindAcceptance else { return .afterAcceptance }
        let isKnown = acceptedTokens?.contains(checksum: lane.machine.log.entry(at: refusal.sequence).checksum) ?? false
        return isKnown ? .firstThoughKnown : .first
    }

    /// A lane and the other one for the same tokens.
    func lanes(beside lane: GatewayLane) -> [GatewayLane] {
        probations[lane.number % probations.count].lanes
    }

    /// Removes the waiting notifications of a token from its lanes.
    ///
    /// - Returns: their references, in order.
    func discardWaiting(token: [UInt8], checksum: UInt32) -> [NotificationReference] {
        lanes(beside: ownLanes[affinity.lane(checksum: checksum)]).flatMap { lane in
            lane.machine.discard(checksum: checksum) { NotificationFrame.command2Token(in: $0).elementsEqual(token) }
                .map { lane.machine.log.entry(at: $0).reference }
        }
    }

    /// Removes waiting notifications from the lanes.
    func takeWaiting(where isTaken: (NotificationReference) -> Bool) -> [NotificationReference] {
        lanes.flatMap { $0.machine.takeWaiting(where: isTaken) }
    }
}
