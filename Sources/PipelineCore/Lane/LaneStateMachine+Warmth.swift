/// Keeps a connection open though nothing is to be sent. Such a connection carries nothing, no sentinel either.
extension LaneStateMachine {
    /// A connection is to be open for a while from now on, if the lane may send all.
    public mutating func keepWarm(now: MonotonicTime) { warmth.want(now: now) }

    /// The purpose, for the budget, of a connection that is wanted.
    ///
    /// - Parameter isFirst: the lane has had none.
    public func purpose(isFirst: Bool) -> ConnectionBudget.Purpose {
        if isFirst { return .first }
        return waitingCount > 0 ? .reconnect : .successor
    }

    /// A connection is wanted though nothing is to be sent.
    func wantsWarmth(now: MonotonicTime) -> Bool {
        admission == .all && !isFinishing && warmth.isDue(now: now)
    }

    /// Nothing waits or is in flight, and the wish holds, or the connection was begun for it and has carried nothing.
    private func isIdleForWarmth(now: MonotonicTime) -> Bool {
        isDrained && (isForWarmth || warmth.isWanted(now: now))
    }

    /// The lane is only kept warm: nothing waits or is in flight, nor would anything presumed be sent again if the
    /// certificate were refused now. A connection begun for warmth outlives the wish.
    public func isOnlyWarm(now: MonotonicTime) -> Bool {
        guard isIdleForWarmth(now: now) else { return false }
        guard phase == .open, !hasLetGo else { return true }
        return log.liveCount(in: max(log.head, connectionStart)..<settledEnd) == 0
    }

    /// A connection failed, or the attempt to make one: the next one comes after a back-off.
    ///
    /// - Parameters:
    ///   - wasOpen: it was no attempt.
    ///   - isRefused: the peer refused the certificate, so that the next one waits for longer.
    mutating func countFailure(wasOpen: Bool, isRefused: Bool = false, now: MonotonicTime, random: UInt64) {
        let wasIdle = isIdleForWarmth(now: now)
        let wait = warmth.countFailure(
            isForWarmth: wasIdle,
            lived: wasOpen ? connectionOpenedAt.elapsed(until: now) : nil,
            isRefused: isRefused,
            failures: &failures,
            limits: limits,
            now: now,
            random: random
        )
        phase = .waiting(until: now + wait)
        floorEndsAt = now + limits.backoff.floor
    }
}
