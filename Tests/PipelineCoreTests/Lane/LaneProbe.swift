import APNsProtocol

@testable import PipelineCore

/// Drives one lane by hand: a clock, published ordinals, a connection that takes everything at once.
final class LaneProbe {
    static let window = Duration.seconds(2)
    static let retryFor = Duration.seconds(30)

    var lane: LaneStateMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private let firstSequence: UInt64
    private var published: UInt32 = 0

    init(
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 1000,
        inFlightBytes: Int = 64 << 20,
        retainedBytes: Int = 1 << 20,
        connectionMaxAge: Duration? = nil,
        loneCloses: Int = 5,
        firstSequence: UInt64 = 0
    ) {
        self.firstSequence = firstSequence
        let limits = LaneLimits(
            confirmationWindow: Self.window,
            unknownFate: unknownFate,
            inFlight: inFlight,
            inFlightBytes: inFlightBytes,
            retainedBytes: retainedBytes,
            connectionMaxAge: connectionMaxAge,
            processingAttempts: 3,
            retryFor: Self.retryFor,
            loneCloses: loneCloses
        )
        lane = LaneStateMachine(limits: limits, firstSequence: firstSequence)
    }

    var phase: LaneStateMachine.Phase { lane.phase }
    var isDrained: Bool { lane.isDrained }
    var inFlight: Int { lane.inFlightCount }
    var waiting: Int { lane.waitingCount }
    var wantsSentinel: Bool { lane.wantsSentinel }
    var isRetiring: Bool { lane.isRetiring }
    var isRetired: Bool { lane.isRetired }
    var wantsSuccessor: Bool { lane.wantsSuccessor(now: now) }
    var isIdle: Bool { lane.isIdle(now: now) }
    var hasGivenUp: Bool { lane.hasGivenUp }
    var inFlightBytes: Int { lane.inFlightBytes }
    var window: SendWindow { lane.window }
    var presumesAt: MonotonicTime? { lane.presumesAt }
    var awaitsAcknowledgement: Bool { lane.awaitsAcknowledgement }
    var wantsConnection: Bool { lane.wantsConnection(now: now) }
    var isPeerDead: Bool { lane.isPeerDead(now: now) }
    var peerDeadAt: MonotonicTime? { lane.peerDeadAt }
    var isWaitingForBudget: Bool { lane.isWaitingForBudget }
    var isQuiet: Bool { lane.isQuiet }
    var isStranded: Bool { lane.isStranded }
    var waitsForBudget: Bool { lane.waitsForBudget }
    var isUnderWay: Bool { lane.isUnderWay }
    var isAtRest: Bool { lane.isAtRest() }
    var standsStill: Bool { lane.standsStill(now: now) }
    var freesBuffers: Bool { lane.freesBuffers() }
    var wantsPump: Bool { lane.wantsPump }
    var overdue: LaneStateMachine.Due? { lane.overdue(now: now) }
    var adoptsSuccessor: Bool { lane.adoptsSuccessor() }
    var rotation: ConnectionRotation.Reason? { lane.takeRotation() }
    var keptEntries: Int { Int(lane.log.tail - lane.log.head) }
    /// Entries that the log has room for.
    var room: Int { lane.log.capacity }
    var storedBytes: Int { lane.log.storedBytes }

    func publish(
        _ count: Int = 1,
        assignment: UInt32 = 1,
        bytes: Int = TestFrame.smallestBytes,
        checksum: UInt32 = 0
    ) {
        for _ in 0..<count {
            let room = lane.reserve(bytes)
            TestFrame.write(identifier: lane.nextIdentifier, ordinal: published, into: room)
            lane.commit(
                .init(assignment: assignment, record: 0, token: published),
                bytes: bytes,
                checksum: checksum
            )
            published += 1
        }
    }

    /// Opens a connection, after the wait if there is one.
    func open(edition: UInt64 = 0) {
        if case .waiting(let until) = lane.phase { now = max(now, until) }
        lane.connecting(edition: edition)
        lane.opened(now: now, random: .max / 2)
    }

    /// Hands over all that may go and flushes it; returns the ordinals that went.
    @discardableResult
    func send(flush: Bool = true) -> [UInt32] {
        var ordinals: [UInt32] = []
        while let run = lane.nextRun() {
            var bytes = Array(run)
            ordinals += TestFrame.take(from: &bytes).map(\.ordinal)
        }
        if flush { lane.flushed(upTo: lane.sentEnd, now: now) }
        return ordinals
    }

    func openAndSend() -> [UInt32] {
        open()
        return send()
    }

    func identifier(of ordinal: UInt32) -> UInt32 {
        FrameLog.identifier(of: firstSequence + UInt64(ordinal))
    }

    func answer(_ status: APNsStatus, _ ordinal: UInt32) -> Verdict {
        answer(status, identifier: identifier(of: ordinal))
    }

    func answer(_ status: APNsStatus, identifier: UInt32) -> Verdict {
        simplified(lane.answered(.init(status: status, identifier: identifier), now: now, random: .max / 2))
    }

    func end(_ end: ConnectionEnd = .failed) -> Verdict {
        simplified(lane.ended(end, now: now, random: .max / 2))
    }

    /// Takes the waiting notifications with a checksum out of the line. Returns their ordinals.
    func discard(_ checksum: UInt32) -> [UInt32] {
        lane.discard(checksum: checksum) { _ in true }.map(\.token)
    }

    /// The identifier of the sentinel that is written now; nil: none is.
    func takeSentinel() -> UInt32? { lane.takeSentinel(now: now) }

    func giveSentinelUp() -> Verdict? {
        guard lane.overdue(now: now) == .sentinelUnanswered else { return nil }
        return simplified(lane.end(.sentinelUnanswered, now: now, random: 0))
    }

    func silence(_ time: Duration = LaneProbe.window) -> Verdict {
        now = now + time
        return simplified(lane.presume(now: now))
    }

    func age(edition: UInt64 = 0) -> LaneStateMachine.Age { lane.age(edition: edition, now: now, random: 0) }

    func rest() { lane.rest(now: now) }

    func evict() { lane.evictSettled(now: now) }

    /// A verdict in ordinals, dropped ones left out.
    struct Verdict: Equatable {
        var confirmed: [UInt32] = []
        var presumed: [UInt32] = []
        var unknown: [UInt32] = []
        var presumedWrong: [UInt32] = []
        var refused: UInt32?
        var wasPresumed = false
        var resent = 0
    }

    private func simplified(_ verdict: LaneVerdict) -> Verdict {
        func ordinals(_ range: Range<UInt64>) -> [UInt32] {
            range.map { lane.log.entry(at: $0) }.filter { !$0.isDropped }.map(\.reference.token)
        }
        return Verdict(
            confirmed: ordinals(verdict.confirmed),
            presumed: ordinals(verdict.presumed),
            unknown: ordinals(verdict.unknown),
            presumedWrong: ordinals(verdict.presumedWrong),
            refused: verdict.refused.map { lane.log.entry(at: $0.sequence).reference.token },
            wasPresumed: verdict.refused?.wasPresumed ?? false,
            resent: verdict.resent
        )
    }
}
