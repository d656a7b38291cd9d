import APNsProtocol

/// What an event settled in a lane: sequence numbers of the lane's ``FrameLog``, which keeps the entries until
/// ``LaneStateMachine/evictSettled()``.
///
/// A range can enclose entries that were dropped (``FrameLog/Entry/isDropped``): they may never have been sent, so the
/// verdict says nothing about them and its reader skips them.
public struct LaneVerdict: Equatable, Sendable {
    /// The final word on the notification an answer named.
    public struct Refusal: Equatable, Sendable {
        public var sequence: UInt64
        public var status: APNsStatus
        public var rule: StatusRule
        /// It had been presumed accepted before.
        public var wasPresumed: Bool
        /// Its connection had accepted something before it.
        public var isBehindAcceptance: Bool
    }

    /// Proven accepted.
    public var confirmed: Range<UInt64>
    /// Taken for accepted: silence for the window, or by policy.
    public var presumed: Range<UInt64>
    /// Given up, by policy.
    public var unknown: Range<UInt64>
    /// Refused for good.
    public var refused: Refusal?
    /// Were presumed before, turned out to have been discarded, and will be sent again.
    public var presumedWrong: Range<UInt64>
    /// How many that had been handed to the connection will be sent again; dropped ones are not counted.
    public var resent: Int
    /// One past the last that was handed to the connection: what is sent again ends here.
    public var resendEnd: UInt64
    /// See ``LaneStateMachine/connectionOpenedAt``: the connection on which all this was learned.
    public var connectionOpenedAt: MonotonicTime

    static func nothing(at sequence: UInt64, connectionOpenedAt: MonotonicTime) -> LaneVerdict {
        let none = sequence..<sequence
        return LaneVerdict(
            confirmed: none,
            presumed: none,
            unknown: none,
            refused: nil,
            presumedWrong: none,
            resent: 0,
            resendEnd: sequence,
            connectionOpenedAt: connectionOpenedAt
        )
    }
}

/// Why a connection, or the attempt to make one, came to its end without an answer of the gateway.
public enum ConnectionEnd: Equatable, Sendable {
    /// The peer closed, the network failed, the host is dead.
    case failed
    /// The peer acknowledged nothing for ``LaneLimits/peerTimeout``: a failure that no notification is suspected for.
    case peerDead
    /// The peer refused our certificate: a matter of the topic, not of the network.
    case certificateRefused
    /// We closed it.
    case closedHere
}
