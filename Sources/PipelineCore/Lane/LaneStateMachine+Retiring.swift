import APNsProtocol

/// Ends connections with proof: the sentinel, rotation, the idle rule.
///
/// A *sentinel* is a notification that the gateway must refuse, without a token: the answer to it proves that
/// everything before it was accepted ([field]). It costs the connection, so it goes out only when a connection is to
/// end anyway: at a stop, and before a lane moves on to a new connection. A gateway may fail to answer it; meanwhile
/// silence settles notifications as usual, and after ``LaneLimits/sentinelTimeout`` the connection is given up.
extension LaneStateMachine {
    /// A connection that is to take over from the open one.
    struct Successor: Equatable {
        /// Of the credential with which it is made.
        var edition: UInt64
        /// Its handshake is done.
        var isReady = false
        /// The caller was told that the open connection retires for it.
        var isTold = false
    }

    /// A connection that takes no more notifications.
    struct Retirement: Equatable {
        /// The sequence number whose identifier the sentinel carries; nil before it is written.
        var sentinel: UInt64?
        var givenUpAt: MonotonicTime?
    }

    // MARK: Stopping

    /// Begins the end of the lane: as soon as nothing waits, the connection retires. No other takes over.
    public mutating func finish() {
        isFinishing = true
        successor = nil
    }

    // MARK: Retiring

    /// Stops the open connection from taking more. It can be closed once its notifications are settled, see
    /// ``isRetired``.
    public mutating func retire() {
        guard phase == .open, retirement == nil else { return }
        retirement = Retirement()
    }

    /// The connection takes no more notifications.
    public var isRetiring: Bool { retirement != nil }

    /// The retiring connection has nothing unsettled: the caller closes it.
    var isRetired: Bool {
        phase == .open && retirement != nil && sentEnd == settledEnd
    }

    /// A sentinel is to be written now.
    var wantsSentinel: Bool {
        guard mayWrite, sentEnd > settledEnd else { return false }
        if let retirement { return retirement.sentinel == nil }
        // Dropped entries that wait are not sent any more, even if the connection takes nothing that would pass them.
        return isFinishing && log.liveCount(in: sentEnd..<log.tail) == 0
    }

    /// Takes the sentinel that is to be handed to the connection now, behind everything else; nothing is written after
    /// it.
    ///
    /// - Returns: its identifier, which follows those of everything written on the connection; nil: none is to be
    ///   written.
    public mutating func takeSentinel(now: @autoclosure () -> MonotonicTime) -> UInt32? {
        guard wantsSentinel else { return nil }
        retirement = Retirement(sentinel: sentEnd, givenUpAt: now() + limits.sentinelTimeout)
        return FrameLog.identifier(of: sentEnd)
    }

    /// The answer is the one to the sentinel that is out. So is status 2 with identifier 0: nothing else that a lane
    /// sends can lack its token.
    func answersSentinel(_ response: ErrorResponse) -> Bool {
        guard let sentinel = retirement?.sentinel else { return false }
        return response.identifier == FrameLog.identifier(of: sentinel)
            || response.identifier == 0 && response.status == .missingDeviceToken
    }

    /// Everything on the connection was accepted, because the gateway came as far as the sentinel.
    mutating func sentinelAnswered() -> LaneVerdict {
        var verdict = nothing
        verdict.writtenAt = marks.writtenAt(settledEnd)
        verdict.confirmed = settledEnd..<sentEnd
        verdict.resendEnd = sentEnd
        let known = max(settledEnd, quietEnd)
        if sentEnd > known { window.passed(Int(sentEnd - known)) }
        settledEnd = sentEnd
        phase = .disconnected
        noteProgress()
        rewind()
        return verdict
    }

    // MARK: Rotation

    /// New connections are opened with a credential of this edition. One with another is replaced soon.
    ///
    /// - Parameter random: 64 random bits.
    mutating func noteEdition(_ edition: UInt64, now: MonotonicTime, random: @autoclosure () -> UInt64) {
        guard phase == .open else { return }
        // The failures were those of another credential, be the next successor due earlier now or not.
        if rotation.latest != edition { successorFailures = 0 }
        rotation.noteEdition(edition, now: now, random: random())
    }

    /// A successor is to be opened: the connection is old, or has a former credential, and none is there.
    func wantsSuccessor(now: MonotonicTime) -> Bool {
        mayWrite && successor == nil && retirement == nil && !isFinishing && rotation.isDue(now: now)
    }

    /// An attempt to connect a successor begins.
    ///
    /// - Parameter edition: of the credential with which it is made.
    public mutating func successorConnecting(edition: UInt64) {
        precondition(successor == nil)
        successor = Successor(edition: edition)
    }

    /// The successor may not be opened before this time.
    public mutating func postponeSuccessor(until time: MonotonicTime) {
        rotation.postpone(until: time)
    }

    /// The successor is ready. With the connection's own credential it takes over at once; with another one after a
    /// trial, because the peer may refuse that yet.
    public mutating func successorOpened(now: MonotonicTime) {
        guard let edition = successor?.edition else { return }
        successor?.isReady = true
        guard phase == .open, edition != rotation.edition else { return retire() }
        trialEndsAt = now + ConnectionRotation.trial
    }

    /// The reason for which the open connection retires for its successor; told once, nil otherwise.
    public mutating func takeRotation() -> ConnectionRotation.Reason? {
        guard successor?.isTold == false, isRetiring else { return nil }
        successor?.isTold = true
        return rotation.reason
    }

    /// Goes on over the successor, if it is ready, the lane's connection is gone, and no wait is due: it counts as
    /// being opened from now on. Otherwise it is dropped: the caller closes it.
    public mutating func adoptsSuccessor() -> Bool {
        defer { successor = nil }
        guard let successor, successor.isReady, phase == .disconnected else { return false }
        connecting(edition: successor.edition)
        return true
    }

    /// Ends the trial of the successor when its time is over: the connection retires.
    mutating func endTrial(now: MonotonicTime) {
        guard let due = trialEndsAt, due <= now else { return }
        trialEndsAt = nil
        retire()
    }

    /// The successor could not be opened, or was refused: the connection goes on, and the next attempt follows after a
    /// back-off. The back-off also holds for other connections, should this one have ended meanwhile.
    ///
    /// - Parameters:
    ///   - isRefused: the peer refused the certificate, so that the next successor waits for longer.
    ///   - random: 64 random bits.
    public mutating func successorFailed(now: MonotonicTime, random: UInt64, isRefused: Bool = false) {
        successor = nil
        trialEndsAt = nil
        successorFailures += 1
        connectsFrom = now + limits.backoff.delay(failures: successorFailures, random: random)
        let backoff = isRefused ? limits.topicBackoff : limits.backoff
        postponeSuccessor(until: now + backoff.delay(failures: successorFailures, random: random))
    }

    // MARK: The idle rule

    /// Nothing was sent for so long that the connection may have been cut silently ([talk]: after about 2 hours).
    /// Closing it in order ([13]) is better than losing the next notification on it. A lane that is kept warm opens
    /// another one then.
    func isIdle(now: MonotonicTime) -> Bool {
        phase == .open && settledEnd == log.tail && usedAt + limits.idleTimeout <= now
    }
}
