import APNsProtocol

/// The results of one event in a lane, as sequence numbers of its ``FrameLog``. The log keeps the entries until
/// ``LaneStateMachine/evictSettled(now:)``.
///
/// A range can enclose entries that were dropped (``FrameLog/Entry/isDropped``): they may never have been sent, so the
/// verdict does not apply to them and its reader skips them.
public struct LaneVerdict: Equatable, Sendable {
    /// The final result for the notification named by an answer.
    public struct Refusal: Equatable, Sendable {
        public var sequence: UInt64
        public var status: APNsStatus
        public var rule: StatusRule
        /// An answer named the notification. Otherwise it was alone too often when a connection ended.
        public var isNamed: Bool
        /// The notification had been presumed accepted before.
        public var wasPresumed: Bool
        /// The history of the connection, as far as the lane knows it.
        public var standing: AppHealth.RefusalStanding
    }

    /// Proven accepted.
    public var confirmed: Range<UInt64>
    /// Presumed accepted: silence for the window, or by policy.
    public var presumed: Range<UInt64>
    /// ``presumed`` is so by policy alone: nothing tells that the gateway accepted it.
    public var isPresumedByPolicy = false
    /// Given up, by policy.
    public var unknown: Range<UInt64>
    /// Refused for good.
    public var refused: Refusal?
    /// Presumed accepted before, but discarded by the gateway; to be sent again.
    public var presumedWrong: Range<UInt64>
    /// The number of notifications handed to the connection and to be sent again. Dropped ones are not counted.
    public var resent: Int
    /// One past the last notification handed to the connection: those to be sent again end here.
    public var resendEnd: UInt64
    /// The opening time of the connection behind this verdict, see ``LaneStateMachine/connectionOpenedAt``.
    public var connectionOpenedAt: MonotonicTime
    /// The time of handing over the first of ``confirmed`` and ``presumed``; nil: it is not known.
    public var writtenAt: MonotonicTime?

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

/// The reason why a connection, or the attempt to make one, ended without an answer of the gateway.
public enum ConnectionEnd: Equatable, Sendable {
    /// The peer closed, the network failed, the host is dead.
    case failed
    /// The peer acknowledged nothing for ``LaneLimits/peerTimeout``: a failure for which no notification is suspected.
    case peerDead
    /// The peer refused our certificate: a matter of the topic, not of the network.
    case certificateRefused
    /// The peer does not speak our protocol, so that it has read nothing: a host that is no gateway.
    case foreignProtocol
    /// We closed it.
    case closedHere
}
