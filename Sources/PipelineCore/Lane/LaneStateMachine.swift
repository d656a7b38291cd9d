import APNsProtocol

/// One ordered stream of notifications to the gateway over one connection at a time.
///
/// The binary protocol answers nothing when all is well; this machine decides what silence, an error response and an end of
/// stream prove. The log is divided by two cursors:
///
///     head ── presumed lately ──▶ settledEnd ── in flight ──▶ sentEnd ── waiting ──▶ tail
///
/// Whatever must be sent again is sent again by moving `sentEnd` back to `settledEnd`, hence in its old order and before
/// everything newer. Pure: time and randomness are arguments; single-threaded by its owner.
public struct LaneStateMachine: ~Copyable {
    /// Where the lane's connection stands.
    public enum Phase: Equatable, Sendable {
        /// None; one may be opened when there is something to send.
        case disconnected
        /// None, and none before this time.
        case waiting(until: MonotonicTime)
        case connecting
        case open
    }

    public let limits: LaneLimits
    public internal(set) var log: FrameLog
    public internal(set) var phase = Phase.disconnected
    /// Everything before has its outcome.
    public internal(set) var settledEnd: UInt64
    /// Everything before was handed to the connection.
    public internal(set) var sentEnd: UInt64
    /// What may go out while the topic does not work.
    public internal(set) var admission = Admission.all
    /// The wait that is on is for the topic, not for the network.
    var waitsForTopic = false
    /// The wait that is on is for the budget of new connections: nobody's fault.
    public private(set) var isWaitingForBudget = false
    /// Shrinks and grows with what refusals cost.
    public internal(set) var window: SendWindow

    /// Everything before is the lane's own to send; nil: whatever it is given is.
    public internal(set) var sortedEnd: UInt64?

    /// Everything before has a mark: the end of the last flush.
    var flushedEnd: UInt64
    /// Where the open connection began: an answer on it can name nothing older.
    public internal(set) var connectionStart: UInt64
    var marks = FlushMarks()
    /// Everything before was confirmed, or silent for as long as answers take here.
    var quietEnd: UInt64
    /// Failures in a row without a notification settled in between.
    var failures = 0
    /// Answers in a row that could not be attributed.
    var unattributed = 0
    var isolation: Isolation?
    /// Something that was handed to the open connection was dropped before its fate was known: an answer that names nothing
    /// may be about it.
    var hasForgotten = false
    /// The open connection takes nothing more.
    var retirement: Retirement?
    /// The lane comes to its end, see ``finish()``.
    public internal(set) var isFinishing = false
    /// A lane that stops has closed a connection whose gateway left its sentinel unanswered: nothing more is sent, and what
    /// is unsettled is for whoever comes next.
    public internal(set) var hasGivenUp = false
    /// When the open connection is to be replaced; nil: never.
    var rotatesAt: MonotonicTime?
    /// Successors in a row that could not be opened.
    var successorFailures = 0
    /// No connection before this time, for a successor has failed.
    var connectsFrom = MonotonicTime(nanoseconds: 0)
    /// When something was last handed to the open connection.
    var usedAt = MonotonicTime(nanoseconds: 0)
    /// When the open connection, or the last one, was opened.
    public internal(set) var connectionOpenedAt = MonotonicTime(nanoseconds: 0)
    /// Bytes of the open connection's stream that the peer's kernel is known to have, and when the last of them became known.
    private var acknowledgedBytes: UInt64 = 0
    private var acknowledgedAt = MonotonicTime(nanoseconds: 0)

    /// A stretch of suspects that goes in groups of which each must be settled before the next is sent. Each group that
    /// settles doubles the next one, so that a long stretch does not crawl for the sake of one culprit.
    struct Isolation: Equatable {
        var groupEnd: UInt64
        var groupSize: UInt64
        var suspectsEnd: UInt64
    }

    public init(limits: LaneLimits) {
        self.init(limits: limits, firstSequence: 0)
    }

    /// Starts at another sequence number than 0, so that tests reach the wrap-around of identifiers.
    init(limits: LaneLimits, firstSequence: UInt64) {
        self.limits = limits
        log = FrameLog(firstSequence: firstSequence)
        settledEnd = firstSequence
        sentEnd = firstSequence
        flushedEnd = firstSequence
        connectionStart = firstSequence
        quietEnd = firstSequence
        window = SendWindow(largest: limits.inFlight, longestDelay: limits.confirmationWindow)
    }

    // MARK: What stands

    /// Handed to the connection and not settled.
    public var inFlightCount: Int { Int(sentEnd - settledEnd) }
    /// Memory of what is handed to the connection and not settled.
    public var inFlightBytes: Int { log.span(from: settledEnd, to: sentEnd) }
    /// Not yet handed to a connection, or to be sent again.
    public var waitingCount: Int { Int(log.tail - sentEnd) }
    /// Every notification has its outcome.
    public var isDrained: Bool { settledEnd == log.tail }
    /// The identifier of the next frame that is committed.
    public var nextIdentifier: UInt32 { FrameLog.identifier(of: log.tail) }

    /// When silence will next settle something; nil while nothing is in flight, or has not reached the peer yet.
    public var presumesAt: MonotonicTime? {
        marks.first?.silentSince.map { $0 + limits.confirmationWindow }
    }

    /// The oldest notification that waits for a connection; nil if none does.
    public var firstWaiting: NotificationReference? {
        (sentEnd..<log.tail).first { !log.entry(at: $0).isDropped }.map { log.entry(at: $0).reference }
    }

    /// Something was written of which it is not known whether the peer's kernel has it.
    public var awaitsAcknowledgement: Bool { marks.awaitsAcknowledgement }

    // MARK: Taking notifications in

    /// Room for a frame that carries ``nextIdentifier``; follow with ``commit(_:bytes:)``.
    public mutating func reserve(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        log.reserve(bytes)
    }

    /// Takes the reserved frame as the lane's newest notification.
    ///
    /// - Parameter checksum: what ``discard(checksum:where:)`` finds it by; frames of one token share it.
    public mutating func commit(_ reference: NotificationReference, bytes: Int, checksum: UInt32 = 0) {
        log.commit(reference, bytes: bytes, checksum: checksum)
    }

    /// Takes out of the line what waits, or is to be sent again, and satisfies a condition; it gets its outcome from the
    /// caller and none from here.
    ///
    /// - Returns: the sequence numbers, ascending; their entries stay readable until ``evictSettled()``.
    public mutating func discard(
        checksum: UInt32,
        where isMeant: (_ frame: UnsafeRawBufferPointer) -> Bool
    ) -> [UInt64] {
        let discarded = log.drop(checksum: checksum, from: sentEnd, where: isMeant)
        passDropped()
        return discarded
    }

    /// Stops sending what belongs to a partition that is being revoked: what waits is not sent, what is in flight may still settle.
    public mutating func stopSending(assignment: UInt32) {
        log.drop(assignment: assignment, from: sentEnd)
        passDropped()
    }

    /// Forgets a partition that is gone: nothing of it is sent again, whatever is answered. That includes what was presumed:
    /// its new owner may have sent newer notifications to the same tokens by the time a late answer comes.
    public mutating func forget(assignment: UInt32) {
        log.drop(assignment: assignment, from: log.head)
        passDropped()
    }

    // MARK: The connection

    /// Whether a connection is wanted now: there is something to send, none is open, and no wait is on.
    public func wantsConnection(now: MonotonicTime) -> Bool {
        guard sentEnd < log.tail, !hasGivenUp, admission != .none, connectsFrom <= now else { return false }
        switch phase {
        case .disconnected: return true
        case .waiting(let until): return until <= now
        case .connecting, .open: return false
        }
    }

    /// An attempt to connect has begun.
    public mutating func connecting() {
        precondition(phase != .connecting && phase != .open)
        isWaitingForBudget = false
        phase = .connecting
    }

    /// The budget of new connections is spent until then.
    public mutating func postpone(until time: MonotonicTime) {
        precondition(phase != .connecting && phase != .open)
        isWaitingForBudget = true
        waitsForTopic = false
        phase = .waiting(until: time)
    }

    /// The connection is ready for notifications.
    ///
    /// - Parameter random: 64 random bits, which say when it is old.
    public mutating func opened(now: MonotonicTime, random: UInt64) {
        precondition(phase == .connecting && sentEnd == settledEnd)
        phase = .open
        flushedEnd = sentEnd
        connectionStart = sentEnd
        hasForgotten = false
        usedAt = now
        connectionOpenedAt = now
        acknowledgedBytes = 0
        acknowledgedAt = now
        rotatesAt = rotationTime(now: now, random: random)
        successorFailures = 0
    }

    /// The next bytes for the connection, at most one TLS record's worth; nil when there are none or none may go now.
    ///
    /// The bytes are valid until the next mutating call; the caller copies them out or writes them at once.
    public mutating func nextRun() -> UnsafeRawBufferPointer? {
        guard phase == .open, retirement == nil, admission != .none else { return nil }
        while true {
            let limit = min(sendLimit, sortedEnd ?? .max)
            guard sentEnd < limit, inFlightBytes + FrameLog.chunkBytes <= limits.inFlightBytes else { return nil }
            let (bytes, end) = log.run(from: sentEnd, limit: limit)
            if bytes.isEmpty {
                sentEnd = end
                passDropped()
                continue
            }
            sentEnd = end
            return bytes
        }
    }

    /// Everything handed over so far ends at a position of the connection's byte stream: the window of silence begins when
    /// the peer's kernel has acknowledged so much, see ``acknowledged(streamBytes:now:)``. What lies in a buffer on this side,
    /// because the gateway does not read, is never presumed to have been taken.
    ///
    /// - Parameters:
    ///   - end: ``sentEnd`` as it was after the handing over.
    ///   - streamBytes: all bytes written on this connection up to there, the handshake's and the encryption's included.
    public mutating func written(upTo end: UInt64, streamBytes: UInt64, now: MonotonicTime) {
        guard phase == .open, end > flushedEnd, end <= sentEnd else { return }
        flushedEnd = end
        usedAt = now
        marks.appendWritten(end: end, streamEnd: streamBytes, now: now, window: limits.confirmationWindow)
    }

    /// The peer's kernel has acknowledged so many bytes of the connection's stream. That does not mean that the gateway has
    /// read them, but from now on it can.
    public mutating func acknowledged(streamBytes: UInt64, now: MonotonicTime) {
        guard phase == .open else { return }
        if streamBytes > acknowledgedBytes {
            acknowledgedBytes = streamBytes
            acknowledgedAt = now
        }
        marks.acknowledge(streamBytes: streamBytes, now: now)
    }

    /// When the peer is dead unless it acknowledges something before; nil while it has all that was written, or where
    /// acknowledgements are not told.
    public var peerDeadAt: MonotonicTime? {
        guard phase == .open, let since = marks.unacknowledgedSince else { return nil }
        return max(since, acknowledgedAt) + limits.peerTimeout
    }

    /// Whether the peer has acknowledged nothing for too long: the connection ends with ``ConnectionEnd/peerDead``.
    public func isPeerDead(now: MonotonicTime) -> Bool {
        peerDeadAt.map { $0 <= now } ?? false
    }

    /// Lets time pass for the window of sending: what has been silent for as long as answers take counts as gone through.
    public mutating func noteQuiet(now: MonotonicTime) {
        guard let end = marks.takeQuiet(for: window.quietDelay, now: now) else { return }
        let known = max(settledEnd, quietEnd)
        guard end > known else { return }
        window.passed(Int(end - known))
        quietEnd = end
    }

    /// Everything handed over so far has been taken by the operating system: the window of silence begins. For connections
    /// of which nobody tells what was acknowledged; never mixed with ``written(upTo:streamBytes:now:)`` on one connection.
    ///
    /// - Parameter end: ``sentEnd`` as it was when the flush was asked for.
    public mutating func flushed(upTo end: UInt64, now: MonotonicTime) {
        guard phase == .open, end > flushedEnd, end <= sentEnd else { return }
        flushedEnd = end
        usedAt = now
        marks.appendFlushed(end: end, now: now, window: limits.confirmationWindow)
    }

    /// The highest sequence number that may be handed over now, plus one.
    var sendLimit: UInt64 {
        min(
            min(log.tail, isolation?.groupEnd ?? log.tail),
            settledEnd + UInt64(admission == .one ? 1 : limits.inFlight),
            max(settledEnd, quietEnd) + UInt64(window.size)
        )
    }

    /// A verdict that says nothing yet.
    var nothing: LaneVerdict { .nothing(at: settledEnd, connectionOpenedAt: connectionOpenedAt) }

    /// Dropped entries at the front wait for nothing: no outcome hangs on them.
    mutating func passDropped() {
        guard log.droppedCount > 0 else { return }
        while settledEnd < log.tail, log.entry(at: settledEnd).isDropped {
            if settledEnd < sentEnd { hasForgotten = true }
            settledEnd += 1
        }
        sentEnd = max(sentEnd, settledEnd)
        flushedEnd = max(flushedEnd, settledEnd)
        sortedEnd = sortedEnd.map { max($0, sentEnd) }
        advanceIsolation()
    }
}
