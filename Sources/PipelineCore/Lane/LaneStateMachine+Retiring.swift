import APNsProtocol

/// How a connection comes to a proven end: the sentinel, rotation, the idle rule.
///
/// A *sentinel* is a notification that the gateway must refuse, without a token: the answer to it proves that everything
/// before it was accepted ([field]). It costs the connection, so it goes out only when a connection is to end anyway: at a
/// stop, and before a lane moves on to a new connection. A gateway may fail to answer it; silence goes on to settle what it
/// settles, and after ``LaneLimits/sentinelTimeout`` the connection is given up.
extension LaneStateMachine {
    /// A connection that takes no more notifications.
    struct Retirement: Equatable {
        /// The sequence number whose identifier the sentinel carries; nil before one is out.
        var sentinel: UInt64?
        var givenUpAt: MonotonicTime?
    }

    // MARK: Stopping

    /// The lane comes to its end: as soon as nothing waits, the connection retires.
    public mutating func finish() {
        isFinishing = true
    }

    // MARK: Retiring

    /// The open connection takes nothing more; it can be closed once what it carries is settled, see ``isRetired``.
    public mutating func retire() {
        guard phase == .open, retirement == nil else { return }
        retirement = Retirement()
    }

    /// Nothing of a retiring connection is unsettled: close it.
    public var isRetired: Bool {
        phase == .open && retirement != nil && sentEnd == settledEnd
    }

    /// Whether a sentinel is to be written now, with ``sentinelIdentifier``; nothing is written after it.
    public var wantsSentinel: Bool {
        guard phase == .open, sentEnd > settledEnd else { return false }
        if let retirement { return retirement.sentinel == nil }
        // What waits and is dropped is not sent any more, even if the connection takes nothing that would pass it.
        return isFinishing && log.liveCount(in: sentEnd..<log.tail) == 0
    }

    /// The identifier that follows those of everything written on the connection.
    public var sentinelIdentifier: UInt32 { FrameLog.identifier(of: sentEnd) }

    /// The sentinel was handed to the connection, behind everything else.
    public mutating func sentinelWritten(now: MonotonicTime) {
        precondition(wantsSentinel)
        retirement = Retirement(sentinel: sentEnd, givenUpAt: now + limits.sentinelTimeout)
    }

    /// When the sentinel's answer is no longer waited for; nil while none is out.
    public var sentinelGivenUpAt: MonotonicTime? { retirement?.givenUpAt }

    /// The sentinel was not answered in time: the caller closes the connection. What silence has not settled by then, since
    /// not even its bytes were acknowledged, has an unknown fate. A lane that stops sends nothing of it again.
    ///
    /// - Returns: nil while there is time.
    public mutating func giveSentinelUp(now: MonotonicTime) -> LaneVerdict? {
        guard let due = retirement?.givenUpAt, due <= now else { return nil }
        let verdict = ended(.closedHere, now: now, random: 0)
        hasGivenUp = isFinishing && settledEnd < log.tail
        return verdict
    }

    /// Whether an answer is the one to the sentinel that is out. Status 2 with identifier 0 is: nothing else that a lane
    /// sends can miss its token.
    func answersSentinel(_ response: ErrorResponse) -> Bool {
        guard let sentinel = retirement?.sentinel else { return false }
        return response.identifier == FrameLog.identifier(of: sentinel)
            || response.identifier == 0 && response.status == .missingDeviceToken
    }

    /// Everything on the connection was accepted, for the gateway came as far as the sentinel.
    mutating func sentinelAnswered() -> LaneVerdict {
        var verdict = nothing
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

    /// Whether the connection is old enough for a successor to be opened.
    public func wantsSuccessor(now: MonotonicTime) -> Bool {
        guard phase == .open, retirement == nil, !isFinishing, let due = rotatesAt else { return false }
        return due <= now
    }

    /// The successor may not be opened before this time.
    public mutating func postponeSuccessor(until time: MonotonicTime) {
        guard rotatesAt != nil else { return }
        rotatesAt = time
    }

    /// The successor could not be opened: the connection goes on, and a successor is tried again after a back-off; so is any
    /// other connection, should this one have ended meanwhile.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func successorFailed(now: MonotonicTime, random: UInt64) {
        successorFailures += 1
        let next = now + limits.backoff.delay(failures: successorFailures, random: random)
        connectsFrom = next
        postponeSuccessor(until: next)
    }

    /// When a connection that opens now is old: its greatest age less up to a quarter of it, so that connections that were
    /// opened together do not end together.
    func rotationTime(now: MonotonicTime, random: UInt64) -> MonotonicTime? {
        guard let age = limits.connectionMaxAge else { return nil }
        let nanoseconds = age.wholeNanoseconds
        let early = random.multipliedFullWidth(by: nanoseconds / 4).high
        return now + .nanoseconds(Int64(clamping: nanoseconds - early))
    }

    // MARK: The idle rule

    /// Nothing was sent for so long that the connection may have been cut silently ([talk]: after about 2 hours): it is
    /// better closed in order ([13]) than found dead by the next notification.
    public func isIdle(now: MonotonicTime) -> Bool {
        phase == .open && settledEnd == log.tail && usedAt + limits.idleTimeout <= now
    }
}
