/// Schedules and limits the readings of one topic's feedback list, each under a lease.
///
/// Reading clears the list ([13]), and merely connecting may. So no connection is opened while the broker is away, and
/// nothing is read ahead: the socket is read again only when the broker has acknowledged every tuple read before. A
/// lease keeps other harvesters from reading the same list. A harvester that cannot prove that it still holds the lease
/// closes the connection, and still publishes the tuples that it has read. Two readings at once would lose nothing
/// either, since each publishes its own tuples.
///
/// Pure: the time is an argument. The shell carries effects out in their order and calls ``timerFired(now:)`` at
/// ``deadline``; inputs may come from inside an effect. Inputs that come too late to matter are ignored; inputs
/// impossible for a correct shell trap.
public struct HarvestStateMachine: Hashable, Sendable {
    enum Phase: Hashable {
        case waiting(due: MonotonicTime)
        case checking
        case asking
        case reading
        case releasing
        case stopped
    }

    enum Connection: Hashable {
        case connecting(until: MonotonicTime)
        /// Open, and not being read.
        case open
        case listening(until: MonotonicTime)
        /// Closed by us, and not ended yet.
        case closing(Failure)
        case ended(Failure?)
    }

    public private(set) var settings: Settings
    var phase: Phase
    /// The due time of the reading that waits or is under way.
    private var wasDue: MonotonicTime
    /// The due time of the reading after it; nil: not known yet.
    private var nextDue: MonotonicTime?

    /// The time of the unanswered request for the lease; nil: none.
    private var leaseAskedAt: MonotonicTime?
    /// The lease is ours for sure until this time; nil: it is not.
    private(set) var leaseUntil: MonotonicTime?
    private var renewalDue: MonotonicTime
    private var isReleased = false

    /// Meaningful while reading.
    var connection = Connection.ended(nil)
    var reading = Reading()
    /// Bytes received, and not handed over to the broker.
    public private(set) var backlogBytes = 0
    /// Tuples that the broker has not acknowledged.
    public private(set) var unacknowledged = 0
    private var isHandingOver = false

    private var isStopping = false
    /// The end of the reading under way, and that of all waiting, after a stop.
    private var stopUntil: MonotonicTime?
    private var giveUpAt: MonotonicTime?

    /// - Parameter due: the time of the first reading.
    public init(settings: Settings, due: MonotonicTime) {
        self.settings = settings
        phase = .waiting(due: due)
        wasDue = due
        renewalDue = due
    }

    /// Counts another time from one reading to the next. A wait that is on ends no later than it would if it began now.
    ///
    /// - Parameter delay: on top of that, so that many lists are not due at once.
    public mutating func use(interval: Duration, delay: Duration, now: MonotonicTime) {
        settings.interval = interval
        if case .waiting(let due) = phase { phase = .waiting(due: min(due, now + interval + delay)) }
    }

    public var step: Step {
        switch phase {
        case .waiting: return .waiting
        case .checking: return .checking
        case .asking: return .leasing
        case .releasing: return .releasing
        case .stopped: return .stopped
        case .reading: break
        }
        if unacknowledged > 0 || isHandingOver { return .publishing }
        if case .connecting = connection { return .connecting }
        return .listening
    }

    /// The lease is ours for sure.
    public func holdsLease(now: MonotonicTime) -> Bool {
        leaseUntil.map { now < $0 } ?? false
    }

    /// The time of the next work for ``timerFired(now:)``; nil: not before another input.
    public var deadline: MonotonicTime? {
        switch phase {
        case .waiting(let due): return due
        case .checking, .asking, .releasing: return giveUpAt
        case .stopped: return nil
        case .reading: break
        }
        var times = [leaseAskedAt == nil ? renewalDue : nil, giveUpAt].compactMap(\.self)
        switch connection {
        case .connecting(let until), .listening(let until): times.append(until)
        case .open: break
        case .closing, .ended: return times.min()
        }
        times.append(leaseUntil ?? MonotonicTime(nanoseconds: 0))
        if let stopUntil { times.append(stopUntil) }
        return times.min()
    }
}

// MARK: Inputs

extension HarvestStateMachine {
    /// ``deadline`` may have come.
    public mutating func timerFired(now: MonotonicTime) -> [Effect] {
        if let giveUpAt, giveUpAt <= now, phase != .stopped {
            phase = .stopped
            return [.giveUp]
        }
        switch phase {
        case .waiting(let due) where due <= now:
            wasDue = due
            phase = .checking
            return [.checkBroker]
        case .reading:
            let effects = closeIfDue(now: now)
            // A close may end the reading at once, which gives the lease back; otherwise the timer is due again.
            guard effects.isEmpty, leaseAskedAt == nil, renewalDue <= now else { return effects }
            leaseAskedAt = now
            return [.holdLease]
        case .waiting, .checking, .asking, .releasing, .stopped:
            return []
        }
    }

    /// The answer to ``Effect/checkBroker``: while the broker is away, no list is cleared.
    public mutating func brokerAnswered(_ isThere: Bool, now: MonotonicTime) -> [Effect] {
        guard phase == .checking else { preconditionFailure("the broker was not asked for") }
        guard isThere, !isStopping else {
            nextDue = now + settings.retry
            return rest()
        }
        phase = .asking
        leaseAskedAt = now
        return [.holdLease]
    }

    /// The answer to ``Effect/holdLease``.
    public mutating func leaseAnswered(_ answer: LeaseAnswer, now: MonotonicTime) -> [Effect] {
        guard let askedAt = leaseAskedAt else { preconditionFailure("no lease was asked for") }
        leaseAskedAt = nil
        let until = askedAt + settings.reliableLease
        renewalDue = max(now, askedAt + settings.renewal)
        switch phase {
        case .asking:
            guard answer == .held else {
                nextDue = now + settings.retry
                return rest()
            }
            // An answer that took too long does not count; the lease is given back, because it may be ours.
            guard now < until, !isStopping else {
                nextDue = now + settings.retry
                return release()
            }
            leaseUntil = until
            phase = .reading
            connection = .connecting(until: now + settings.connectTimeout)
            reading = Reading()
            return [.connect]
        case .reading:
            switch answer {
            case .held: leaseUntil = until
            case .refused: leaseUntil = nil
            case .unknown: renewalDue = now + settings.renewal / 4
            }
            return closeIfDue(now: now)
        case .releasing:
            return isReleased ? rest() : []
        case .waiting, .checking, .stopped:
            preconditionFailure("an answer is awaited before the lease is done with")
        }
    }

    public mutating func leaseReleased(now: MonotonicTime) -> [Effect] {
        guard case .releasing = phase, !isReleased else { preconditionFailure("no lease was given back") }
        isReleased = true
        // A late answer must not be taken for the answer to the next request.
        return leaseAskedAt == nil ? rest() : []
    }

    /// The handshake is over. Bytes that came with its end may have been received before.
    public mutating func opened(now: MonotonicTime) -> [Effect] {
        guard case .connecting = connection else { return [] }
        connection = .open
        return proceed(now: now)
    }

    /// - Parameter bytes: at least 1. The shell keeps them until ``Effect/publish(bytes:)`` asks for them.
    public mutating func received(bytes: Int, now: MonotonicTime) -> [Effect] {
        precondition(phase == .reading && bytes > 0, "bytes come from a connection")
        backlogBytes += bytes
        switch connection {
        case .connecting, .listening: connection = .open
        // The last bytes of a connection come at once, whichever side ends it.
        case .open, .closing, .ended: break
        }
        return proceed(now: now)
    }

    /// The producer has the tuples of ``Effect/publish(bytes:)``.
    ///
    /// - Parameters:
    ///   - tuples: each is acknowledged later by ``acknowledged(now:)``.
    ///   - heldBytes: the beginning of a tuple at the end of the bytes received so far.
    public mutating func handedOver(tuples: Int, heldBytes: Int, now: MonotonicTime) -> [Effect] {
        precondition(isHandingOver, "nothing was to be published")
        isHandingOver = false
        unacknowledged = tuples
        reading.tuples += tuples
        reading.cutBytes = heldBytes
        return proceed(now: now)
    }

    /// The broker has acknowledged one tuple.
    public mutating func acknowledged(now: MonotonicTime) -> [Effect] {
        precondition(unacknowledged > 0, "a tuple is acknowledged once")
        unacknowledged -= 1
        return proceed(now: now)
    }

    /// The connection has ended, or never came about.
    ///
    /// - Parameters:
    ///   - failed: false: the service ended the list in order.
    ///   - byProxy: its proxy refused the configured login.
    public mutating func ended(failed: Bool, byProxy: Bool = false, now: MonotonicTime) -> [Effect] {
        guard case .reading = phase else { preconditionFailure("a connection ends once") }
        switch connection {
        case .connecting: connection = .ended(byProxy ? .proxyRefused : .unreachable)
        case .open, .listening: connection = .ended(failed ? .cut : nil)
        case .closing(let failure): connection = .ended(failure)
        case .ended: preconditionFailure("a connection ends once")
        }
        return proceed(now: now)
    }

    /// Stops the harvester. A reading under way may go on for ``Settings/stopPatience``, and its tuples are published;
    /// after ``Settings/answerPatience`` nothing is waited for any more.
    public mutating func stop(now: MonotonicTime) -> [Effect] {
        guard !isStopping else { return [] }
        isStopping = true
        stopUntil = now + settings.stopPatience
        giveUpAt = now + settings.answerPatience
        guard case .waiting = phase else { return [] }
        phase = .stopped
        return [.stopped]
    }
}

// MARK: Decisions

extension HarvestStateMachine {
    /// The reason why nothing more may be read now; nil: reading may go on.
    private func obstacle(now: MonotonicTime) -> Failure? {
        if !holdsLease(now: now) { return .leaseLost }
        if let stopUntil, stopUntil <= now { return .stopped }
        return nil
    }

    private mutating func closeIfDue(now: MonotonicTime) -> [Effect] {
        let failure: Failure?
        switch connection {
        case .connecting(let until): failure = obstacle(now: now) ?? (until <= now ? .unreachable : nil)
        case .listening(let until): failure = obstacle(now: now) ?? (until <= now ? .silent : nil)
        case .open: failure = obstacle(now: now)
        case .closing, .ended: return []
        }
        guard let failure else { return [] }
        connection = .closing(failure)
        return [.close]
    }

    /// The next step of a reading, once its tuples are safe.
    private mutating func proceed(now: MonotonicTime) -> [Effect] {
        guard unacknowledged == 0, !isHandingOver else { return [] }
        if backlogBytes > 0 {
            let bytes = min(backlogBytes, HarvestLimits.batchBytes)
            backlogBytes -= bytes
            isHandingOver = true
            return [.publish(bytes: bytes)]
        }
        switch connection {
        case .open:
            // The timer may be late: a process that was suspended for a while must not read on.
            let close = closeIfDue(now: now)
            guard close.isEmpty else { return close }
            connection = .listening(until: now + settings.silenceLimit)
            return [.listen]
        case .ended(let failure):
            reading.failure = failure ?? (reading.cutBytes > 0 ? .cut : nil)
            nextDue = reading.failure == nil ? max(now, wasDue + settings.interval) : now + settings.retry
            return [.report(reading)] + release()
        case .connecting, .listening, .closing:
            return []
        }
    }

    private mutating func release() -> [Effect] {
        phase = .releasing
        leaseUntil = nil
        isReleased = false
        return [.releaseLease]
    }

    /// Begins the wait for the next reading, or ends the machine.
    private mutating func rest() -> [Effect] {
        if isStopping {
            phase = .stopped
            return [.stopped]
        }
        phase = .waiting(due: nextDue ?? wasDue)
        return []
    }
}
