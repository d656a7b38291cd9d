/// Says what time brings, for a caller that looks at the lane every few milliseconds.
extension LaneStateMachine {
    /// The rest of a tick.
    public enum Tick: Equatable {
        case nothing
        /// ``age(edition:now:random:)`` alone.
        case age
        case all
    }

    /// An end of the open connection that time brings; ``end(_:now:random:)`` follows.
    public enum Due: Equatable {
        /// The gateway did not answer a sentinel in time. Notifications that silence has not settled by then, because
        /// not even their bytes were acknowledged, have an unknown fate. A lane that stops sends none of them again.
        case sentinelUnanswered
        /// The peer has acknowledged nothing for too long. The kernel would try for many minutes, and an orderly close
        /// would wait for an answer.
        case peerDead
        /// It was to take nothing more, and all is settled.
        case retired
        /// Nothing was sent for so long that it may have been cut silently.
        case idle
    }

    /// The effect of a connection's age.
    public enum Age: Equatable {
        case goesOn
        case ends(Due)
        /// A successor is to be opened: begun with ``successorConnecting(edition:)``, or postponed.
        case wantsSuccessor
    }

    // MARK: A tick in order

    /// True once after the gateway has all that was written: the connection can free its buffers. Most of hundreds are
    /// idle.
    public mutating func freesBuffers() -> Bool {
        guard keepsBuffers, waitingCount == 0, !awaitsAcknowledgement else { return false }
        keepsBuffers = false
        return true
    }

    /// Begins a tick: memory goes back.
    public mutating func beginTick(now: MonotonicTime) -> Tick {
        evictSettled(now: now)
        rest(now: now)
        warmth.lapse(now: now)
        guard hasNothingPending(), !wantsConnection(now: now) else { return .all }
        return isOpen ? .age : .nothing
    }

    /// Silence settles what it is due to; nil: nothing.
    public mutating func passSilence(now: MonotonicTime) -> LaneVerdict? {
        passQuietNotifications(now: now)
        guard let due = presumesAt, due <= now else { return nil }
        return presume(now: now)
    }

    /// The end of a connection whose peer is silent for too long; nil: there is time.
    public func overdue(now: MonotonicTime) -> Due? {
        if let due = retirement?.givenUpAt, due <= now { return .sentinelUnanswered }
        return isPeerDead(now: now) ? .peerDead : nil
    }

    /// Lets the connection grow old.
    ///
    /// - Parameters:
    ///   - edition: of the credential with which new connections are opened. One with another is replaced soon.
    ///   - random: 64 random bits.
    public mutating func age(edition: UInt64, now: MonotonicTime, random: @autoclosure () -> UInt64) -> Age {
        noteEdition(edition, now: now, random: random())
        endTrial(now: now)
        if isRetired { return .ends(.retired) }
        if wantsSuccessor(now: now) { return .wantsSuccessor }
        return successor == nil && isIdle(now: now) ? .ends(.idle) : .goesOn
    }

    /// Bytes that are worth a TLS record and a call of the system, while more is at hand: a quarter of a record.
    private static var worthWriting: Int { FrameLog.chunkBytes / 4 }

    /// Something waits, and is worth writing or needs a connection.
    ///
    /// - Parameter isMoreAtHand: more comes soon, so that little may wait for it.
    public mutating func isWorthPumping(isMoreAtHand: Bool) -> Bool {
        waitingCount > 0 && !(isMoreAtHand && isOpen && waitingBytes < Self.worthWriting)
    }

    /// Something is to be written, or a connection may be wanted for it. See ``wantsConnection(now:)``, too.
    public var wantsPump: Bool { waitingCount > 0 || wantsSentinel }

    // MARK: Carried out

    /// Ends the open connection, which the caller closes; aborts, if the peer is dead.
    ///
    /// - Parameter random: 64 random bits.
    public mutating func end(_ due: Due, now: MonotonicTime, random: @autoclosure () -> UInt64) -> LaneVerdict {
        switch due {
        case .peerDead: return ended(.peerDead, now: now, random: random())
        case .retired, .idle: return ended(.closedHere, now: now, random: 0)
        case .sentinelUnanswered:
            let verdict = ended(.closedHere, now: now, random: 0)
            hasGivenUp = isFinishing && settledEnd < log.tail
            return verdict
        }
    }

    // MARK: Facts

    /// Time brings nothing but the connection's age: nothing waits, is in flight or is to be answered.
    ///
    /// Changes nothing. It is `mutating` all the same, because a caller that only reads a lane's hundreds of bytes
    /// works on a copy.
    mutating func hasNothingPending() -> Bool {
        settledEnd == log.tail && marks.isEmpty && retirement == nil
    }
    /// The time of the next settling by silence; nil while nothing is in flight, or has not reached the peer yet, or
    /// the connection is ending.
    var presumesAt: MonotonicTime? {
        isEnding ? nil : marks.first?.silentSince.map { $0 + limits.confirmationWindow }
    }

    /// Gives memory back, once the lane has rested for ``RestWatch/patience``. Of presumed notifications so few are
    /// kept from then on that the lanes of a thousand topics at rest need little.
    mutating func rest(now: MonotonicTime) {
        // A connection that takes the place of another one is no work.
        let isAtRest = settledEnd == log.tail && marks.isEmpty
        guard restWatch.isOver(work: log.tail &+ sentEnd, isAtRest: isAtRest, now: now) else { return }
        if log.evict(before: settledEnd, retaining: FrameLog.chunkBytes) > 0 { hasLetGo = true }
        log.shrink()
        marks.shrink()
    }
}
