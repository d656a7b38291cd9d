import APNsProtocol
import PipelineCore

/// Everything a shard needs to send for one bundle in one environment: its lanes, and what its requests may contain.
final class TopicSender {
    let index: Int32
    let environment: String
    let bundleID: String
    let tokenKey: TokenKey
    /// See ``ParkedLags/topicHash(environment:bundleID:)``.
    let topicHash: UInt64
    let payloadLimitBytes: Int
    /// Lengths of token that the gateway takes.
    let tokenBytes: ClosedRange<Int>
    /// Number of keys the bundle is spread over; 1: not spread, nil: not known, so shards are not checked.
    let spread: UInt32?
    let affinity: TokenAffinity
    let lanes: [GatewayLane]
    /// Doubts the gateway when it calls too many tokens invalid.
    var tokenGuard: InvalidTokenGuard
    /// Whether the topic works.
    var breaker: TopicBreaker
    /// As the log knows it.
    var wasClosed = true
    /// Not every notification goes straight into its lane.
    var detours = false
    /// Refused by a gateway that is not believed yet.
    var suspects: [Suspect] = []
    /// What happened to its connections.
    var counters = TopicCounters()
    /// Called invalid by the gateway, and the token store does not say so to everyone yet.
    var refusedTokens = RefusedTokens()

    /// A notification whose token was called invalid.
    struct Suspect {
        var reference: NotificationReference
        var token: [UInt8]
        var checksum: UInt32
        var status: UInt8
    }

    init(
        index: Int32,
        environment: String,
        bundleID: String,
        payloadLimitBytes: Int,
        tokenBytes: ClosedRange<Int>,
        spread: UInt32?,
        tokenGuard: InvalidTokenGuard,
        breaker: TopicBreaker,
        lanes: [GatewayLane]
    ) {
        self.index = index
        self.environment = environment
        self.bundleID = bundleID
        self.payloadLimitBytes = payloadLimitBytes
        self.tokenBytes = tokenBytes
        self.spread = spread
        self.tokenGuard = tokenGuard
        self.breaker = breaker
        self.lanes = lanes
        affinity = TokenAffinity(lanes: lanes.count)
        tokenKey = TokenKey(environment: environment, bundleID: bundleID)
        topicHash = ParkedLags.topicHash(environment: environment, bundleID: bundleID)
    }

    /// Encodes a notification into the lane of its token.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        payload: UnsafeRawBufferPointer,
        expiration: UInt32,
        priority: NotificationPriority
    ) {
        let lane = lanes[affinity.lane(checksum: checksum)]
        let bytes = NotificationFrame.command2Bytes(tokenBytes: token.count, payloadBytes: payload.count)
        let room = lane.machine.reserve(bytes)
        NotificationFrame.encodeCommand2(
            identifier: lane.machine.nextIdentifier,
            token: token,
            payload: payload,
            expiration: expiration,
            priority: priority,
            into: room
        )
        lane.machine.commit(reference, bytes: bytes, fingerprint: Self.fingerprint(checksum))
    }

    /// What a lane finds the frames of a token by. Not the checksum's last bits: the tokens of one key share some of them.
    static func fingerprint(_ checksum: UInt32) -> UInt16 {
        UInt16(truncatingIfNeeded: checksum >> 16)
    }
}
