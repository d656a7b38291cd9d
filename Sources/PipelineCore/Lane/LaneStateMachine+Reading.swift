/// Facts of a lane that its topic goes by.
extension LaneStateMachine {
    /// The current wait is for the budget of new connections, not after a failure.
    var isWaitingForBudget: Bool { waitCause == .budget }
    /// Notifications handed to the connection and not settled.
    public var inFlightCount: Int { Int(sentEnd - settledEnd) }
    /// Memory of the notifications in flight, bytes.
    public var inFlightBytes: Int { log.span(from: settledEnd, to: sentEnd) }
    /// Notifications not yet handed to a connection, or to be sent again.
    public var waitingCount: Int { Int(log.tail - sentEnd) }
    /// Memory of the waiting notifications, bytes.
    public var waitingBytes: Int { log.span(from: sentEnd, to: log.tail) }
    /// Every notification has its outcome.
    public var isDrained: Bool { settledEnd == log.tail }
    /// The identifier of the next frame that is committed.
    public var nextIdentifier: UInt32 { FrameLog.identifier(of: log.tail) }

    /// Some written bytes may not have reached the peer's kernel yet.
    public var awaitsAcknowledgement: Bool { marks.awaitsAcknowledgement }

    // MARK: For the topic

    public var isConnecting: Bool { phase == .connecting }
    public var isOpen: Bool { phase == .open }
    /// A connection is open or being opened.
    public var hasConnection: Bool { isOpen || isConnecting }
    /// No notification is with a gateway, and none can be.
    public var isQuiet: Bool { inFlightCount == 0 && !hasConnection }
    /// Nothing is in flight, and all that waits needs a new connection.
    public var isStranded: Bool {
        switch phase {
        case .open: isDrained
        case .connecting: false
        case .disconnected, .waiting: true
        }
    }
    /// Notifications that may be sent wait for the connection budget.
    public var waitsForBudget: Bool { isWaitingForBudget && waitingCount > 0 && admission != .none }
    /// Something is in flight, or a connection for it is being made.
    public var isUnderWay: Bool { inFlightCount > 0 || isConnecting }

    /// Time brings nothing but the connection's age, and the connection has freed its buffers and is not being
    /// replaced. A lane that is to be warm and is not asks for a connection in every tick: others of the budget wait
    /// for its turn. `mutating` like ``hasNothingPending()``.
    public mutating func isAtRest() -> Bool {
        hasNothingPending() && successor == nil && !keepsBuffers && (hasConnection || !warmth.wasWanted)
    }

    /// Nothing has settled for too long, though something waits or is in flight. True once per standstill.
    public mutating func standsStill(now: MonotonicTime) -> Bool {
        standstill.observeLane(
            hasWork: inFlightCount > 0 || waitingCount > 0 && admission != .none,
            isExcused: isHeld || isWaitingForBudget,
            settledEnd: settledEnd,
            allowance: isOpen ? limits.confirmationWindow : .zero,
            now: now
        )
    }

    // MARK: Positions

    /// The end of what waits; nil: nothing waits.
    public var waitingEnd: UInt64? { waitingCount > 0 ? log.tail : nil }
    /// The end of what is in flight; nil: nothing is.
    public var barrier: UInt64? { inFlightCount > 0 ? sentEnd : nil }
    /// Everything before a barrier has its outcome, or gets none here.
    public func hasPassed(_ barrier: UInt64) -> Bool { settledEnd >= barrier || hasGivenUp }
    /// The next notification to be handed over.
    public var firstWaiting: NotificationReference? { waitingCount > 0 ? log.entry(at: sentEnd).reference : nil }
}
