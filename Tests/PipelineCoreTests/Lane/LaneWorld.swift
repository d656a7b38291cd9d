import APNsProtocol
import TestSupport

@testable import PipelineCore

/// One lane, one gateway and a network between them under a virtual clock; every choice comes from the seed.
final class LaneWorld {
    struct Options {
        var policy = UnknownFatePolicy.resend
        /// Bytes are read and answers come within the confirmation window.
        var isPunctual = true
        /// The gateway answers what it means: no answer out of nothing, no made-up identifier.
        var isHonest = true
        /// Acknowledgements are told, and bytes may lie here for many windows before they reach the peer. Otherwise
        /// what is taken here is there at once.
        var acknowledges = false
        /// Partitions are revoked now and then.
        var revokes = false
        var notifications = 150
        var tokens: UInt32 = 7
        /// Connections retire now and then, and at the end all do; how sentinels are answered differs from world to
        /// world.
        var retires = false
        /// Once a token is refused, what waits for it is settled without being sent.
        var remembers = false
        /// The gateway closes without a word on some notifications.
        var poisons = false
        /// The peer's kernel stops for good to acknowledge now and then; where acknowledgements are told.
        var deafens = false
    }

    static let window: UInt64 = 2_000_000_000
    /// Bytes of a connection's stream before the first notification.
    private static let handshakeBytes = 1500
    private static let mostUnsettled = 60

    let options: Options
    let firstSequence: UInt64
    var lane: LaneStateMachine
    var random: SeededGenerator
    var now: UInt64 = 1
    var gateway = GatewayModel()
    var connection: ConnectionModel?
    let auditor: LaneAuditor
    var assignment: UInt32 = 1
    private var nextAssignment: UInt32 = 2
    private var revoking: [UInt32] = []
    private(set) var steps = 0
    private(set) var connections = 0
    private(set) var sentinels = 0
    private(set) var deadPeers = 0

    init(seed: UInt64, options: Options) {
        self.options = options
        random = SeededGenerator(seed: seed)
        auditor = LaneAuditor(options: options)
        // Sometimes just before the identifiers wrap.
        firstSequence = random.chance(50) ? 0 : UInt64(UInt32.max) - UInt64.random(in: 0...100, using: &random)
        let limits = LaneLimits(
            confirmationWindow: .nanoseconds(Self.window),
            unknownFate: options.policy,
            inFlight: [1, 5, 40, 1000].randomElement(using: &random) ?? 1,
            inFlightBytes: [1, 2, 1000].randomElement(using: &random).map { $0 * FrameLog.chunkBytes } ?? 1 << 20,
            retainedBytes: [0, 2 * FrameLog.chunkBytes, 1 << 20].randomElement(using: &random) ?? 0,
            sentinelTimeout: .nanoseconds(Self.window * .random(in: 1...3, using: &random)),
            // Longer than the peer's buffers are full.
            peerTimeout: .nanoseconds(Self.window * 4),
            backoff: Backoff(base: .milliseconds(100), cap: .seconds(4), floor: .milliseconds(10)),
            topicBackoff: Backoff(base: .seconds(1), cap: .seconds(8), floor: .milliseconds(100)),
            processingAttempts: Int.random(in: 1...4, using: &random),
            loneCloses: Int.random(in: 2...5, using: &random)
        )
        lane = LaneStateMachine(limits: limits, firstSequence: firstSequence)
        if seed % 3 == 0 { lane.retainedShare = 2 * FrameLog.chunkBytes }
        if options.retires { gateway.sentinelIdentifier = [.own, .zero, nil].randomElement(using: &random) ?? nil }
    }

    /// Runs until everything is settled; false if it did not come to that in a generous number of steps.
    func run() -> Bool {
        while gateway.fates.count < options.notifications, steps < 20_000 { step(withFaults: true) }
        let limit = steps + 30_000
        if options.retires, random.chance(50) { lane.finish() }
        while !lane.isDrained, !lane.hasGivenUp, steps < limit { step(withFaults: false) }
        if lane.hasGivenUp {
            // The next owner sends everything without an outcome.
            auditor.check(gateway.sentinelIdentifier == nil || options.acknowledges || !options.isPunctual, "given up")
            for gone in 0..<nextAssignment { auditor.stopped(assignment: gone) }
            return true
        }
        return lane.isDrained
    }

    private func step(withFaults: Bool) {
        steps += 1
        if random.chance(40) { publishSome() }
        if random.chance(60) { pump() }
        if random.chance(60) { takeSome(everything: random.chance(20)) }
        if options.acknowledges, random.chance(60) { arriveSome() }
        if random.chance(60), connection != nil {
            connection?.read(.random(in: 1...3000, using: &random), by: &gateway, answerDue: answerDue())
        }
        letTimePass()
        deliverAnswer()
        if withFaults { injectFault() }
        if options.revokes { revokeSome() }
        auditor.check(
            lane.log.storedBytes <= lane.limits.retainedBytes + (Self.mostUnsettled * 2 / 20 + 4) * FrameLog.chunkBytes,
            "\(lane.log.storedBytes) bytes are kept"
        )
        auditor.check(lane.log.tail - lane.log.head <= 4000, "too many entries are kept")
        auditor.check(lane.inFlightCount <= lane.limits.inFlight, "\(lane.inFlightCount) are in flight")
        auditor.check(lane.inFlightBytes <= lane.limits.inFlightBytes, "\(lane.inFlightBytes) bytes are in flight")
    }

    // MARK: The lane's side

    private func publishSome() {
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            guard gateway.fates.count < options.notifications else { return }
            guard lane.inFlightCount + lane.waitingCount < Self.mostUnsettled else { return }
            let ordinal = UInt32(gateway.fates.count)
            gateway.publish(randomFate())
            auditor.published(assignment: assignment)
            let bytes = Int.random(in: TestFrame.smallestBytes...600, using: &random)
            TestFrame.write(identifier: lane.nextIdentifier, ordinal: ordinal, into: lane.reserve(bytes))
            lane.commit(
                .init(assignment: assignment, record: 0, token: ordinal),
                bytes: bytes,
                checksum: UInt32(ordinal % options.tokens)
            )
        }
    }

    private func randomFate() -> Fate {
        if options.poisons, random.chance(3) { return .poison }
        return switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: .refused(.invalidToken)
        case 3: .refused(.invalidPayloadSize)
        case 4: .refused(.missingDeviceToken)
        case 5: .refused(.processingError)
        case 6: .refusedAtFirst(.processingError, times: 2)
        case 7: .refusedAtFirst(.missingTopic, times: 2)
        case 8: .refused(.unknown)
        case 9: .refusedAtFirst(.protocolError, times: 1)
        case 10: .anonymous([.unknown, .invalidToken, .noErrors].randomElement(using: &random) ?? .unknown)
        default: .good
        }
    }

    private func pump() {
        guard var open = connection else {
            guard lane.wantsConnection(now: .init(nanoseconds: now)) else { return }
            return connect()
        }
        let before = lane.sentEnd
        while open.pending.count < 4000, let run = lane.nextRun() {
            var bytes = Array(run)
            open.pending += bytes
            for frame in TestFrame.take(from: &bytes) {
                let expected = FrameLog.identifier(of: firstSequence + UInt64(frame.ordinal))
                auditor.check(frame.identifier == expected, "\(frame.ordinal) carries another identifier")
                auditor.sent(frame.ordinal)
            }
            auditor.check(bytes.isEmpty, "a run ended in mid-frame")
        }
        defer { writeSentinel() }
        if lane.sentEnd > before {
            let position = open.taken + open.pending.count
            if options.acknowledges {
                lane.written(
                    upTo: lane.sentEnd,
                    streamBytes: UInt64(Self.handshakeBytes + position),
                    now: .init(nanoseconds: now)
                )
            } else {
                open.flushes.append((position, lane.sentEnd))
            }
        }
        connection = open
    }

    private func writeSentinel() {
        if options.retires, random.chance(2) { lane.retire() }
        if lane.isRetired { return end(.closedHere) }
        guard connection != nil, let identifier = lane.takeSentinel(now: .init(nanoseconds: now)) else { return }
        var bytes = [UInt8](repeating: 0, count: TestFrame.smallestBytes)
        bytes.withUnsafeMutableBytes {
            TestFrame.write(identifier: identifier, ordinal: TestFrame.sentinel, into: $0)
        }
        connection?.pending += bytes
        sentinels += 1
        auditor.check(lane.nextRun() == nil, "something is written after a sentinel")
    }

    private func connect() {
        if random.chance(10) { return lane.postpone(until: .init(nanoseconds: now + 50_000_000)) }
        lane.connecting()
        connections += 1
        if random.chance(10) { return end(random.chance(30) ? .certificateRefused : .failed) }
        lane.opened(now: .init(nanoseconds: now), random: random.next())
        auditor.opened(resume: Int(lane.settledEnd - firstSequence))
        connection = ConnectionModel()
        // A certificate is refused after our side of the handshake is done, hence after the first writes.
        connection?.refusesCertificate = random.chance(5)
    }

    func end(_ end: ConnectionEnd) {
        if end == .failed, connection != nil { auditor.closedSilently() }
        connection = nil
        settle(
            lane.ended(end, now: .init(nanoseconds: now), random: random.next()),
            bySilence: false
        )
    }

    /// Reads a verdict as the shard does: entries that were dropped get no outcome.
    func settle(_ verdict: LaneVerdict, bySilence: Bool) {
        func live(_ range: Range<UInt64>) -> [Int] {
            range.map { lane.log.entry(at: $0) }.filter { !$0.isDropped }.map { Int($0.reference.token) }
        }
        for ordinal in live(verdict.presumedWrong) { auditor.wronglyPresumed(ordinal) }
        for ordinal in live(verdict.confirmed) { auditor.confirmed(ordinal, by: gateway) }
        for ordinal in live(verdict.presumed) { auditor.presumed(ordinal, bySilence: bySilence, by: gateway) }
        for ordinal in live(verdict.unknown) { auditor.unknown(ordinal) }
        if let refused = verdict.refused {
            for ordinal in live(refused.sequence..<refused.sequence + 1) {
                auditor.refused(
                    ordinal,
                    wasPresumed: refused.wasPresumed,
                    loneCloses: lane.limits.loneCloses,
                    by: gateway
                )
                if options.remembers, refused.rule == .rejectToken { silence(UInt32(ordinal) % options.tokens) }
            }
        }
        if random.chance(80) { lane.evictSettled(now: .init(nanoseconds: now)) }
    }

    private func silence(_ token: UInt32) {
        let silenced = lane.discard(checksum: UInt32(token)) { frame in
            var bytes = Array(frame)
            return TestFrame.take(from: &bytes).allSatisfy { $0.ordinal % options.tokens == token }
        }
        for reference in silenced { auditor.silenced(Int(reference.token)) }
    }

    // MARK: The network's side

    private func takeSome(everything: Bool) {
        guard var open = connection, !open.pending.isEmpty else { return }
        let count = everything ? open.pending.count : Int.random(in: 1...open.pending.count, using: &random)
        if options.acknowledges {
            open.inTransit += open.pending.prefix(count)
        } else {
            open.underWay.append((Array(open.pending.prefix(count)), now))
        }
        open.pending.removeFirst(count)
        open.taken += count
        while let flush = open.flushes.first, flush.position <= open.taken {
            lane.flushed(upTo: flush.end, now: .init(nanoseconds: now))
            open.flushes.removeFirst()
        }
        connection = open
    }

    /// Some of what is in transit reaches the peer's kernel, unless its buffers are full; the lane hears of it by and
    /// by.
    private func arriveSome() {
        guard var open = connection else { return }
        if open.stalledUntil <= now, !open.inTransit.isEmpty {
            let count = Int.random(in: 1...open.inTransit.count, using: &random)
            open.underWay.append((Array(open.inTransit.prefix(count)), now))
            open.inTransit.removeFirst(count)
            open.arrived += count
            if options.deafens, random.chance(1) { open.stalledUntil = .max }
            if random.chance(5), open.stalledUntil <= now {
                open.stalledUntil = now + .random(in: 0...Self.window * 3, using: &random)
            }
        }
        connection = open
        if lane.awaitsAcknowledgement, random.chance(50) {
            lane.acknowledged(streamBytes: UInt64(Self.handshakeBytes + open.arrived), now: .init(nanoseconds: now))
        }
    }

    private func answerDue() -> UInt64 {
        now + .random(in: 0...(options.isPunctual ? Self.window / 4 : Self.window * 3), using: &random)
    }

    private func letTimePass() {
        now += .random(in: 0...(random.chance(25) ? Self.window / 8 : 1_000_000), using: &random)
        if lane.isPeerDead(now: .init(nanoseconds: now)) {
            deadPeers += 1
            auditor.check(connection?.hears == false, "a peer that has all it was sent is called dead")
            return end(.peerDead)
        }
        guard options.isPunctual else {
            if connection?.refusesCertificate == true, random.chance(1) { return end(.certificateRefused) }
            return presume()
        }
        // Bytes taken a quarter of a window ago are read by now, and no refusal comes later either.
        while let open = connection, let oldest = open.underWay.first, oldest.takenAt + Self.window / 4 <= now {
            if open.refusesCertificate { return end(.certificateRefused) }
            if open.answer != nil || open.isCut { break }
            connection?.read(oldest.bytes.count, by: &gateway, answerDue: answerDue())
        }
        deliverAnswer()
        lane.passQuietNotifications(now: .init(nanoseconds: now))
        presume()
    }

    private func presume() {
        if lane.overdue(now: .init(nanoseconds: now)) == .sentinelUnanswered {
            connection = nil
            let verdict = lane.end(.sentinelUnanswered, now: .init(nanoseconds: now), random: 0)
            return settle(verdict, bySilence: false)
        }
        guard let due = lane.presumesAt, due.nanoseconds <= now else { return }
        settle(lane.presume(now: .init(nanoseconds: now)), bySilence: true)
    }

    private func deliverAnswer() {
        if connection?.isCut == true { return end(.failed) }
        guard let answer = connection?.answer, answer.due <= now else { return }
        connection = nil
        settle(
            lane.answered(answer.response, now: .init(nanoseconds: now), random: random.next()),
            bySilence: false
        )
    }

    // MARK: Faults

    private func injectFault() {
        guard let open = connection, random.chance(4) else { return }
        if open.refusesCertificate { return end(.certificateRefused) }
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
            // The end of the stream overtakes an answer; a part of what is under way is still read.
            connection?.read(.random(in: 0...5000, using: &random), by: &gateway, answerDue: now)
            end(random.chance(80) ? .failed : .closedHere)
        case 2, 3:
            guard open.answer == nil else { return }
            connection?.answer = (ErrorResponse(status: .shutdown, identifier: open.lastAccepted), answerDue())
        default:
            guard !options.isHonest, open.answer == nil else { return }
            let madeUp = FrameLog.identifier(of: lane.log.tail + .random(in: 1000...9000, using: &random))
            let response = ErrorResponse(
                status: [.noErrors, .unknown, .processingError].randomElement(using: &random) ?? .unknown,
                identifier: random.chance(50) ? 0 : madeUp
            )
            connection?.answer = (response, answerDue())
        }
    }

    private func revokeSome() {
        if random.chance(1) {
            let old = assignment
            assignment = nextAssignment
            nextAssignment += 1
            auditor.stopped(assignment: old)
            lane.stopSending(assignment: old)
            revoking.append(old)
        }
        if !revoking.isEmpty, random.chance(3) {
            let gone = revoking.removeFirst()
            auditor.forgot(assignment: gone)
            lane.forget(assignment: gone)
        }
    }
}
