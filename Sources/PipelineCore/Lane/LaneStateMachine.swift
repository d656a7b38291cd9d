import APNsProtocol

/// One ordered stream of notifications to the gateway over one connection at a time.
///
/// The binary protocol answers nothing when all is well; this machine draws the conclusions from silence, an error
/// response and an end of stream. The log is divided by two cursors:
///
///     head ── presumed lately ──▶ settledEnd ── in flight ──▶ sentEnd ── waiting ──▶ tail
///
/// Notifications are sent again by moving `sentEnd` back to `settledEnd`, hence in their old order and before
/// everything newer. Pure: time and randomness are arguments; used by one thread at a time.
public struct LaneStateMachine: ~Copyable {
    /// The state of the lane's connection.
    public enum Phase: Equatable, Sendable {
        /// No connection; one may be opened when there is something to send, or to keep the lane warm.
        case disconnected
        /// No connection, and none before this time.
        case waiting(until: MonotonicTime)
        case connecting
        case open
    }

    public private(set) var limits: LaneLimits
    /// This lane's share of what all lanes of its owner may keep of presumed notifications, bytes.
    public var retainedShare = Int.max
    public internal(set) var log: FrameLog
    public internal(set) var phase = Phase.disconnected
    /// Everything before has its outcome.
    public internal(set) var settledEnd: UInt64
    /// Everything before was handed to the connection.
    public internal(set) var sentEnd: UInt64
    /// The notifications that may go out while the topic does not work.
    public internal(set) var admission = Admission.all
    /// Cause of the wait that is on, or of the last one.
    var waitCause = WaitCause.other
    /// Limits unanswered notifications; shrinks and grows with the cost of refusals.
    public internal(set) var window: SendWindow

    /// Everything before is the lane's own to send; nil: the lane is not sorted, everything is its own.
    public internal(set) var sortedEnd: UInt64?

    /// Everything before has a mark: the end of the last flush.
    var flushedEnd: UInt64
    /// The first sequence number of the open connection. An answer on it can name nothing older.
    public internal(set) var connectionStart: UInt64
    var marks = FlushMarks()
    /// Everything before was confirmed, or silent for the usual time of an answer.
    var quietEnd: UInt64
    /// Failures in a row without a notification settled in between.
    var failures = 0
    /// Answers in a row that could not be attributed.
    var unattributed = 0
    var isolation: Isolation?
    /// The notification being tried again after processing errors, and the time of the first error.
    var retried: (sequence: UInt64, since: MonotonicTime)?
    /// A notification handed to the open connection was dropped before its fate was known. An answer that names nothing
    /// may be about it.
    var hasForgotten = false
    /// The log has let go of a notification that was settled on the open connection.
    var hasLetGo = false
    /// The state of a connection that takes nothing more; nil: it still does.
    var retirement: Retirement?
    /// The open connection is ending, see ``ending()``.
    public internal(set) var isEnding = false
    /// The lane is ending, see ``finish()``.
    public internal(set) var isFinishing = false
    /// Nothing is written and no connection is opened, see ``hold(_:)``.
    var isHeld = false
    /// A stopping lane has closed a connection whose gateway did not answer the sentinel. Nothing more is sent; the
    /// next owner sends the unsettled notifications.
    public internal(set) var hasGivenUp = false
    /// The time for replacing the open connection, or the last one.
    public internal(set) var rotation: ConnectionRotation
    /// The credential's edition of the connection that is being opened.
    private var openingEdition: UInt64 = 0
    /// The connection that is to take over; nil: there is none.
    var successor: Successor?
    /// Successors in a row that could not be opened, or were refused.
    var successorFailures = 0
    /// The end of the trial of a successor with another credential; nil: none is on trial.
    var trialEndsAt: MonotonicTime?
    /// No connection is opened before this time, because a successor failed.
    var connectsFrom = MonotonicTime(nanoseconds: 0)
    /// The end of the shortest wait after the last failure: a wait that is ended early lasts until then.
    var floorEndsAt = MonotonicTime(nanoseconds: 0)
    var restWatch = RestWatch()
    var warmth = WarmConnection()
    /// The connection, or the attempt to make it, was begun for warmth alone, and has carried nothing. Without any
    /// connection it is said of the last one.
    private(set) var isForWarmth = false
    var standstill: LaneStandstill
    /// Something was written since the connection has freed its buffers, its handshake if nothing else.
    var keepsBuffers = false
    /// The time of the last hand-over to the open connection.
    var usedAt = MonotonicTime(nanoseconds: 0)
    /// The time of opening the open connection, or the last one.
    public internal(set) var connectionOpenedAt = MonotonicTime(nanoseconds: 0)
    /// Bytes of the open connection's stream known to have reached the peer's kernel, and the time of the last news.
    private var acknowledgedBytes: UInt64 = 0
    private var acknowledgedAt = MonotonicTime(nanoseconds: 0)

    /// The reason for a wait, as far as others can end or excuse it.
    enum WaitCause {
        /// The gateway refused the topic or its certificate.
        case topic
        /// An attempt to connect failed.
        case gateway
        /// The budget of new connections is spent.
        case budget
        /// A notification, or a connection that was lost.
        case other
    }

    /// A stretch of suspects that goes in groups; each must be settled before the next is sent. Each settled group
    /// doubles the next one, so that a long stretch does not crawl for the sake of one culprit.
    struct Isolation: Equatable {
        var groupEnd: UInt64
        var groupSize: UInt64
        var suspectsEnd: UInt64
    }

    /// - Parameter memory: of the frames.
    public init(limits: LaneLimits, memory: FrameChunks) {
        self.init(limits: limits, firstSequence: 0, memory: memory)
    }

    /// - Parameter firstSequence: not 0 in tests that are to reach the wrap-around of identifiers.
    init(limits: LaneLimits, firstSequence: UInt64 = 0, memory: FrameChunks = FrameChunks()) {
        self.limits = limits
        log = FrameLog(firstSequence: firstSequence, memory: memory)
        settledEnd = firstSequence
        sentEnd = firstSequence
        flushedEnd = firstSequence
        connectionStart = firstSequence
        quietEnd = firstSequence
        window = SendWindow(largest: limits.inFlight, longestDelay: limits.confirmationWindow)
        rotation = ConnectionRotation(edition: 0, maxAge: nil, now: MonotonicTime(nanoseconds: 0), random: 0)
        standstill = LaneStandstill(patience: limits.standstillPatience)
    }

    /// Uses other limits from now on, apart from those that what is in flight was measured by, see
    /// ``LaneLimits/changed(to:)``.
    public mutating func use(_ changed: LaneLimits) {
        limits = limits.changed(to: changed)
        standstill.patience = limits.standstillPatience
    }

    // MARK: Taking notifications in

    /// Room for a frame that carries ``nextIdentifier``; follow with ``commit(_:bytes:)``.
    public mutating func reserve(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        log.reserve(bytes)
    }

    /// Takes the reserved frame as the lane's newest notification.
    ///
    /// - Parameter checksum: the key for ``discard(checksum:where:)``; frames of one token share it.
    public mutating func commit(_ reference: NotificationReference, bytes: Int, checksum: UInt32 = 0) {
        log.commit(reference, bytes: bytes, checksum: checksum)
    }

    /// Discards waiting notifications, including those to be sent again, that satisfy a condition. The caller gives
    /// them their outcome; the lane gives none.
    ///
    /// - Returns: their references, in order.
    public mutating func discard(
        checksum: UInt32,
        where isMeant: (_ frame: UnsafeRawBufferPointer) -> Bool
    ) -> [NotificationReference] {
        let discarded = log.drop(checksum: checksum, from: sentEnd, where: isMeant)
        passDropped()
        return discarded.map { log.entry(at: $0).reference }
    }

    /// Stops sending notifications of a partition that is being revoked. Waiting ones are not sent; those in flight may
    /// still settle.
    public mutating func stopSending(assignment: UInt32) {
        log.drop(assignment: assignment, from: sentEnd)
        passDropped()
    }

    /// Forgets a partition that is gone: none of its notifications is sent again, whatever the answer. That includes
    /// presumed ones: the new owner may have sent newer notifications to the same tokens by the time a late answer
    /// comes.
    public mutating func forget(assignment: UInt32) {
        log.drop(assignment: assignment, from: log.head)
        passDropped()
    }

    /// A notification of the partition waits, is in flight, or was presumed lately and not dropped.
    public mutating func keeps(assignment: UInt32) -> Bool { log.keeps(assignment: assignment) }

    // MARK: The connection

    /// A connection is wanted now: there is something to send, or the lane is kept warm; none is open, and no wait is
    /// on. The caller begins it with ``connecting(edition:)``, or postpones it.
    public func wantsConnection(now: MonotonicTime) -> Bool {
        guard sentEnd < log.tail || wantsWarmth(now: now) else { return false }
        guard !isHeld, !hasGivenUp, admission != .none, connectsFrom <= now else { return false }
        switch phase {
        case .disconnected: return true
        case .waiting(let until): return until <= now
        case .connecting, .open: return false
        }
    }

    /// An attempt to connect begins.
    ///
    /// - Parameter edition: of the credential with which it is made.
    public mutating func connecting(edition: UInt64 = 0) {
        precondition(phase != .connecting && phase != .open)
        waitCause = .other
        phase = .connecting
        openingEdition = edition
        // A successor is for warmth like the connection that it replaces, though the wish may have lapsed.
        isForWarmth = isDrained && (isForWarmth || warmth.wasWanted)
    }

    /// Shortens the wait after an attempt that failed: another lane has a connection to the same gateway.
    public mutating func gatewayAnswers(now: MonotonicTime) {
        guard waitCause == .gateway, case .waiting(let until) = phase else { return }
        phase = .waiting(until: min(until, now + limits.backoff.floor))
    }

    /// The budget of new connections is spent until `time`.
    public mutating func postpone(until time: MonotonicTime) {
        precondition(phase != .connecting && phase != .open)
        // Notifications to come do not wait for it.
        guard waitingCount > 0 || !warmth.wasWanted else { return warmth.postpone(until: time) }
        waitCause = .budget
        phase = .waiting(until: time)
    }

    /// The connection is ready for notifications.
    ///
    /// - Parameter random: 64 random bits, for the time at which the connection is old.
    public mutating func opened(now: MonotonicTime, random: UInt64) {
        precondition(phase == .connecting && sentEnd == settledEnd)
        phase = .open
        flushedEnd = sentEnd
        connectionStart = sentEnd
        hasForgotten = false
        hasLetGo = false
        usedAt = now
        connectionOpenedAt = now
        acknowledgedBytes = 0
        acknowledgedAt = now
        rotation = ConnectionRotation(
            edition: openingEdition,
            maxAge: limits.connectionMaxAge,
            now: now,
            random: random
        )
        successorFailures = 0
        trialEndsAt = nil
        keepsBuffers = true
    }

    /// The next bytes for the connection, at most one TLS record's worth; nil when there are none or none may go now.
    ///
    /// The bytes are valid until the next mutating call; the caller copies them out or writes them at once.
    public mutating func nextRun() -> UnsafeRawBufferPointer? {
        guard mayWrite, retirement == nil, admission != .none else { return nil }
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
            keepsBuffers = true
            isForWarmth = false
            return bytes
        }
    }

    /// Everything handed over so far ends at a position of the connection's byte stream. The window of silence begins
    /// when the peer's kernel has acknowledged that position, see ``acknowledged(streamBytes:now:)``. Bytes in a buffer
    /// on this side, because the gateway does not read, are never presumed accepted.
    ///
    /// - Parameters:
    ///   - end: ``sentEnd`` just after handing over.
    ///   - streamBytes: all bytes written on this connection up to there, the handshake's and the encryption's
    ///     included.
    public mutating func written(upTo end: UInt64, streamBytes: UInt64, now: MonotonicTime) {
        guard phase == .open, end > flushedEnd, end <= sentEnd else { return }
        flushedEnd = end
        usedAt = now
        marks.appendWritten(end: end, streamEnd: streamBytes, now: now, window: limits.confirmationWindow)
    }

    /// The peer's kernel has acknowledged the stream up to `streamBytes`. The gateway may not have read the bytes, but
    /// from now on it can.
    public mutating func acknowledged(streamBytes: UInt64, now: MonotonicTime) {
        guard phase == .open else { return }
        if streamBytes > acknowledgedBytes {
            acknowledgedBytes = streamBytes
            acknowledgedAt = now
        }
        marks.acknowledge(streamBytes: streamBytes, now: now)
    }

    /// The time at which the peer is dead without a further acknowledgement. Nil while it has everything written, or
    /// where acknowledgements are not known.
    var peerDeadAt: MonotonicTime? {
        guard phase == .open, let since = marks.unacknowledgedSince else { return nil }
        return max(since, acknowledgedAt) + limits.peerTimeout
    }

    /// The peer has acknowledged nothing for too long.
    func isPeerDead(now: MonotonicTime) -> Bool {
        peerDeadAt.map { $0 <= now } ?? false
    }

    /// Lets time pass for the window of sending: notifications silent for the usual time of an answer count as gone
    /// through.
    mutating func passQuietNotifications(now: MonotonicTime) {
        guard let end = marks.takeQuiet(for: window.quietDelay, now: now) else { return }
        let known = max(settledEnd, quietEnd)
        guard end > known else { return }
        window.passed(Int(end - known))
        quietEnd = end
    }

    /// The operating system has taken everything handed over so far: the window of silence begins. For connections
    /// without known acknowledgements; never mixed with ``written(upTo:streamBytes:now:)`` on one connection.
    ///
    /// - Parameter end: ``sentEnd`` at the time of the flush request.
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

    /// A verdict without any result.
    var nothing: LaneVerdict { .nothing(at: settledEnd, connectionOpenedAt: connectionOpenedAt) }

    /// Passes dropped entries at the front, which need no outcome.
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
