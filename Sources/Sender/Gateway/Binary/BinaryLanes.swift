import APNsProtocol
import Logging
import PipelineCore

/// The lanes of one topic over the binary protocol, with those of probation beside them.
///
/// Events among lanes stay here; the others go to the stage. Bound to the shard's event loop.
final class BinaryLanes: AppTransport {
    private let topic: Topic
    private unowned let stage: any LaneStage
    /// The lanes that notifications of a token wait in; chosen by ``affinity``.
    private(set) var ownLanes: [GatewayLane] = []
    /// All lanes, those of probation first: a notification there is older than those that wait in its former lane.
    private(set) var lanes: [GatewayLane] = []
    private var probations: [Probation] = []
    private let affinity: TokenAffinity
    private let accepted: AcceptedMemory
    /// Memory of the tokens accepted lately; nil: there is none.
    var acceptedTokenBytes: Int? { accepted.bytes }
    private let contents = ContentSweep()
    private var probationSwitch = ProbationSwitch()
    /// Notifications that went over a lane of probation.
    private(set) var onProbation = 0

    /// - Parameters:
    ///   - memory: of the shard.
    ///   - connector: makes the connector for the lane of a number.
    init(
        of topic: Topic,
        settings: ShardSettings,
        buffers: RunBuffers,
        frames: FrameChunks,
        memory: ShardMemory,
        logger: Logger,
        stage: any LaneStage,
        connector: (Int) -> any GatewayConnecting
    ) {
        self.topic = topic
        self.stage = stage
        // Lanes of probation come after the others, one for each.
        let count = settings.connectionsPerTopic
        affinity = TokenAffinity(lanes: count)
        accepted = AcceptedMemory(indexBits: settings.acceptedTokenBits, memory: memory)
        var logger = logger
        logger[metadataKey: "app"] = .string(topic.bundleID)
        logger[metadataKey: "environment"] = .string(topic.environment)
        let made = (0..<2 * count).map { number in
            GatewayLane(
                of: topic,
                number: number,
                connector: connector(number),
                buffers: buffers,
                frames: frames,
                random: settings.randomBits,
                logger: logger,
                owner: self
            )
        }
        ownLanes = Array(made.prefix(count))
        lanes = Array(made.suffix(count)) + ownLanes
        probations = zip(ownLanes, lanes).map { Probation(of: $0, lane: $1) }
    }

    // MARK: State

    var inFlightCount: Int { lanes.reduce(0) { $0 + $1.machine.inFlightCount } }
    var waitingCount: Int { lanes.reduce(0) { $0 + $1.machine.waitingCount } }
    var openConnections: Int { lanes.count { $0.machine.isOpen } }
    var isQuiet: Bool { lanes.allSatisfy { $0.machine.isQuiet } }
    var isStranded: Bool { lanes.allSatisfy { $0.machine.isStranded } }
    var isAtRest: Bool { lanes.allSatisfy { $0.machine.isAtRest() } }
    var isWaitingForBudget: Bool { lanes.contains { $0.machine.waitsForBudget } }

    func use(_ settings: ShardSettings, _ limits: LaneLimits) {
        for lane in lanes { lane.machine.use(limits) }
    }

    /// - Parameter share: of a lane, of what may be kept of presumed notifications; bytes.
    func retain(share: Int) {
        for lane in lanes { lane.machine.retainedShare = share }
    }

    // MARK: Sending

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

    func inheritTrouble(_ trouble: NotificationTrouble, checksum: UInt32) {
        ownLanes[affinity.lane(checksum: checksum)].machine.inheritTrouble(trouble)
    }

    func pump(now: MonotonicTime, isMoreAtHand: Bool) {
        sweepContents()
        for lane in lanes where lane.machine.isWorthPumping(isMoreAtHand: isMoreAtHand) { lane.pump(now: now) }
    }

    /// Each token has its lane, so all of them are kept warm.
    func keepWarm(now: MonotonicTime) {
        for lane in ownLanes { lane.machine.keepWarm(now: now) }
    }

    func hold(_ isHeld: Bool) {
        for lane in lanes { lane.machine.hold(isHeld) }
    }

    func tick(now: MonotonicTime) {
        for lane in lanes { lane.tick(now: now) }
        endProbation(now: now)
        contents.expire(now: now)
    }

    func standsStill(now: MonotonicTime) -> Bool {
        // Each lane looks, whatever the others find.
        lanes.reduce(false) { stands, lane in lane.machine.standsStill(now: now) || stands }
    }

    // MARK: Admission

    func admitAll() {
        for lane in lanes { lane.machine.admit(.all) }
    }

    /// Lets one lane send at a time, the one in which a notification waits.
    func admitProbe() {
        let probing = lanes.first { $0.machine.isUnderWay } ?? lanes.first { $0.machine.waitingCount > 0 }
        for lane in lanes { lane.machine.admit(lane === probing ? .one : .none) }
    }

    func suspend() {
        for lane in lanes { lane.suspend() }
    }

    // MARK: Feeds

    func stopSending(assignment: UInt32) {
        for lane in lanes { lane.machine.stopSending(assignment: assignment) }
    }

    func forget(assignment: UInt32) {
        for lane in lanes { lane.machine.forget(assignment: assignment) }
    }

    func keeps(assignment: UInt32) -> Bool { lanes.contains { $0.machine.keeps(assignment: assignment) } }

    func takeWaiting(assignment: UInt32, where isTaken: (NotificationReference) -> Bool) -> [NotificationReference] {
        lanes.flatMap { $0.machine.takeWaiting(assignment: assignment, where: isTaken) }
    }

    func discardWaiting(token: [UInt8], checksum: UInt32, kind: TopicKind?) -> [NotificationReference] {
        lanes(beside: ownLanes[affinity.lane(checksum: checksum)]).flatMap { lane in
            lane.machine.discard(checksum: checksum) { NotificationFrame.command2Token(in: $0).elementsEqual(token) }
        }
    }

    func troubles(assignment: UInt32) -> [(NotificationReference, NotificationTrouble)] {
        lanes.flatMap { $0.machine.troubles(assignment: assignment) }
    }

    // MARK: Positions

    func lane(checksum: UInt32) -> Int { affinity.lane(checksum: checksum) }

    func waitingEnd(ofLane number: Int) -> UInt64? { ownLanes[number].machine.waitingEnd }

    func sentEnd(ofLane number: Int) -> UInt64 { ownLanes[number].machine.sentEnd }

    func barriers() -> [LaneBarrier] {
        lanes.compactMap { lane in
            lane.machine.barrier.map { end in LaneBarrier { lane.machine.hasPassed(end) } }
        }
    }

    // MARK: The end

    func finish(now: MonotonicTime) {
        for lane in lanes { lane.finish(now: now) }
    }

    func close() {
        for lane in lanes { lane.close() }
    }

    // MARK: Events of lanes

    /// Writing is allowed now.
    var mayWrite: Bool { stage.mayWrite }

    /// See ``TransportStage/hasStoodStill``.
    var hasStoodStill: Bool { stage.hasStoodStill }

    /// Asks for one new connection of a lane. Nil if granted, else the time to ask again.
    func mayConnect(_ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        let isProbe = purpose != .successor && topic.flow.sending == .probing
        return stage.mayConnect(topic, isProbe ? .probe : purpose, now: now)
    }

    func handle(_ event: TransportEvent, of lane: GatewayLane) {
        if event == .connected {
            // The others' wait for the same gateway may be shorter.
            for other in lanes where other !== lane { other.machine.gatewayAnswers(now: lane.now) }
        }
        stage.handle(event, of: topic)
    }

    func answered(_ response: ErrorResponse, of lane: GatewayLane, now: MonotonicTime) {
        switch StatusRule(response.status) {
        case .stopTopic:
            stage.handle(.refused(.topic), of: topic)
        case .rejectToken:
            noteInvalidToken(now: now)
        case .deadLetter, .isolate:
            guard let named = lane.machine.sequence(named: response) else { break }
            contents.suspect(at: named, of: lane, among: lanes, now: now)
        case .retry, .acceptedLast, .unattributable:
            break
        }
        stage.handle(.answered(response), of: lane)
    }

    /// Something settled; the entries are readable in the lane's log during the call.
    func settled(_ verdict: LaneVerdict, of lane: GatewayLane, now: MonotonicTime) {
        var verdict = verdict
        noteAccepted(verdict.confirmed, of: lane)
        // Our own policy says nothing about the gateway.
        if !verdict.isPresumedByPolicy { noteAccepted(verdict.presumed, of: lane) }
        let refusal = verdict.refused.flatMap { lane.machine.log.entry(at: $0.sequence).isDropped ? nil : $0 }
        if let refusal, refusal.rule == .rejectToken { verdict.refused = judged(refusal, on: lane) }
        stage.handle(.settled(verdict), of: lane)
        if let refusal, refusal.rule == .deadLetter || refusal.rule == .isolate,
            contents.prove(refusal, of: lane, among: lanes, now: now)
        {
            stage.handle(.condemned(lane.machine.log.entry(at: refusal.sequence).reference, refusal.status), of: lane)
        }
        if verdict.resent > 0 { contents.sweepAgain(lane) }
        sweepContents()
    }

    /// The gateway accepted a part of a lane's log.
    private func noteAccepted(_ range: Range<UInt64>, of lane: GatewayLane) {
        guard !range.isEmpty else { return }
        accepted.noteAcceptance()
        accepted.tokens?.insert(range, of: lane.machine.log)
        contents.clear(range, in: lane.machine.log)
    }

    /// The refusal of a token with its history, as known from the lanes.
    private func judged(_ refusal: LaneVerdict.Refusal, on lane: GatewayLane) -> LaneVerdict.Refusal {
        var judged = refusal
        let checksum = lane.machine.log.entry(at: refusal.sequence).checksum
        if refusal.standing == .first, accepted.contains(checksum: checksum) { judged.standing = .firstThoughKnown }
        accepted.tokens?.remove(checksum: checksum)
        return judged
    }

    /// Ends what waits and is condemned.
    private func sweepContents() {
        contents.sweep(lanes) { lane, reference, status in stage.handle(.withdrawn(reference, status), of: lane) }
    }

    // MARK: Probation

    /// The gateway called a token invalid.
    private func noteInvalidToken(now: MonotonicTime) {
        accepted.noteRefusal()
        probationSwitch.noteInvalid(now: now)
        guard probationSwitch.isOn(now: now) else { return }
        for probation in probations { probation.begin() }
    }

    /// Sorts the next notifications of a lane.
    func sort(_ lane: GatewayLane, now: MonotonicTime) {
        // While nothing was accepted all are newcomers.
        let isEmpty = accepted.tokens == nil
        let known = accepted.tokens.take() ?? AcceptedTokens(indexBits: 1)
        onProbation += probations[lane.number].sort(
            isOn: probationSwitch.isOn(now: now),
            accepted: known,
            now: now
        )
        if !isEmpty { accepted.tokens = consume known }
    }

    /// Ends probation when no token has been called invalid for a while.
    private func endProbation(now: MonotonicTime) {
        guard !probationSwitch.isOn(now: now) else { return }
        for probation in probations { probation.end(now: now) }
        guard accepted.hasRefused, probationSwitch.isQuiet(now: now), probations.allSatisfy(\.isOver) else { return }
        accepted.end()
    }

    /// A lane and the other one for the same tokens.
    private func lanes(beside lane: GatewayLane) -> [GatewayLane] {
        probations[lane.number % probations.count].lanes
    }
}
