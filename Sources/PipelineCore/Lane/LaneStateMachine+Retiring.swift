import APNsProtocol

/// Ends connections with proof: the sentinel, rotation, the idle rule.
///
/// A *sentinel* is a notification that the gateway must refuse, without a token: the answer to it proves that
/// everything before it was accepted ([field]). It costs the connection, so it goes out only when a connection is to
/// end anyway: at a stop, and before a lane moves on to a new connection. A gateway may fail to answer it; meanwhile
/// silence settles notifications as usual, and after ``LaneLimits/sentinelTimeout`` the connection is given up.
extension LaneStateMachine {
    /// A connection that takes no more notifications.
    struct Retirement: Equatable {
        /// The sequence number whose identifier the sentinel carries; nil before it is written.
        var sentinel: UInt64?
        var givenUpAt: MonotonicTime?
    }

    // MARK: Stopping

    /// Begins the end of the lane: as soon as nothing waits, the connection retires.
    public mutating func finish() {
        isFinishing = true
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
    public var isRetired: Bool {
        phase == .open && retirement != nil && sentEnd == settledEnd
    }

    /// A sentinel is to be written now, with ``sentinelIdentifier``; nothing is written after it.
    public var wantsSentinel: Bool {
        guard phase == .open, sentEnd > settledEnd else { return false }
        if let retirement { return retirement.sentinel == nil }
        // Dropped entries that wait are not sent any more, even if the connection takes nothing that would pass them.
        return isFinishing && log.liveCount(in: sentEnd..<log.tail) == 0
    }

    /// The identifier that follows those of everything written on the connection.
    public var sentinelIdentifier: UInt32 { FrameLog.identifier(of: sentEnd) }

    /// The sentinel was handed to the connection, behind everything else.
    public mutating func sentinelWritten(now: MonotonicTime) {
        precondition(wantsSentinel)
        retirement = Retirement(sentinel: sentEnd, givenUpAt: now + limits.sentinelTimeout)
    }

    /// The end of the wait for the sentinel's answer; nil while no sentinel is out.
    public var sentinelGivenUpAt: MonotonicTime? { retirement?.givenUpAt }

    /// The sentinel was not answered in time: the caller closes the connection. Notifications that silence has not
    /// settled by then, because not even their bytes were acknowledged, have an unknown fate. A lane that stops sends
    /// none of them again.
    ///
    /// - Returns: nil while there is time.
    public mutating func giveSentinelUp(now: MonotonicTime) -> LaneVerdict? {
        guard let due = retirement?.givenUpAt, due <= now else { return nil }
        let verdict = ended(.closedHere, now: now, random: 0)
        hasGivenUp = isFinishing && settledEnd < log.tail
        return verdict
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

    /// The connection is old enough for a successor to be opened.
    public func wantsSuccessor(now: MonotonicTime) -> Bool {
        guard phase == .open, retirement == nil, !isFinishing, let due = rotatesAt else { return false }
        return due <= now
    }

    /// The successor may not be opened before this time.
    public mutating func postponeSuccessor(until time: MonotonicTime) {
        guard rotatesAt != nil else { return }
        rotatesAt = time
    }

    /// The successor could not be opened: the connection goes on, and the next attempt follows after a back-off. The
    /// back-off also holds for other connections, should this one have ended meanwhile.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func successorFailed(now: MonotonicTime, random: UInt64) {
        successorFailures += 1
        let next = now + limits.backoff.delay(failures: successorFailures, random: random)
        connectsFrom = next
        postponeSuccessor(until: next)
    }

    /// The time at which a connection opened now is old. It is the greatest age less up to a quarter of it, so that
    /// connections opened together do not end together.
    func rotationTime(now: MonotonicTime, random: UInt64) -> MonotonicTime? {
        guard let age = limits.connectionMaxAge else { return nil }
        let nanoseconds = age.wholeNanoseconds
        let early = random.multipliedFullWidth(by: nanoseconds / 4).high
        return now + .nanoseconds(Int64(clamping: nanoseconds - early))
    }

    // MARK: The idle rule

    /// Nothing was sent for so long that the connection may have been cut silently ([talk]: after about 2 hours).
    /// Closing it in order ([13]) is better than losing the next notification on it.
    public func isIdle(now: MonotonicTime) -> Bool {
        phase == .open && settledEnd == log.tail && usedAt + limits.idleTimeout <= now
    }
}
