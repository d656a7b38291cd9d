import APNsProtocol
import PipelineCore

/// Everything a shard needs to send for one bundle in one environment: its lanes, and what its requests may contain.
final class TopicSender {
    let index: Int32
    let environment: String
    let bundleID: String
    /// Where what is known of its tokens lies in Redis.
    let tokens: TokenTable.Space
    /// Which of them are dead, as far as push.tombstones tells; nil: not followed.
    let deadTokens: TombstoneFilter?
    /// See ``ParkedLags/topicHash(environment:bundleID:)``.
    let topicHash: UInt64
    let requestKey: FingerprintKey
    let windowKey: FingerprintKey
    /// Zero: what does not wait anyway is sent at once.
    let coalescingWindow: Duration
    let payloadLimitBytes: Int
    /// Lengths of token that the gateway takes.
    let tokenBytes: ClosedRange<Int>
    /// Number of keys the bundle is spread over; 1: not spread, nil: not known, so shards are not checked.
    let spread: UInt32?
    let affinity: TokenAffinity
    /// What a token's notifications wait in; by ``affinity``.
    let ownLanes: [GatewayLane]
    /// Of each of the lanes.
    let probations: [Probation]
    /// All lanes, those of probation first: what is in one is older than what waits in the lane it came from.
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
    /// Tells newcomers from others while many tokens are called invalid.
    var acceptedTokens = AcceptedTokens()
    var probationSwitch = ProbationSwitch()

    /// A notification whose token was called invalid; or one to the same token that waits behind it.
    struct Suspect {
        var reference: NotificationReference
        var token: [UInt8]
        var checksum: UInt32
        /// Nil: it was not sent.
        var status: UInt8?
    }

    /// Whether a token waits for the gateway's word to be judged: what is newer must not overtake it.
    func suspects(_ token: UnsafeRawBufferPointer, checksum: UInt32) -> Bool {
        suspects.contains { $0.checksum == checksum && $0.token.elementsEqual(token) }
    }

    init(
        index: Int32,
        environment: String,
        bundleID: String,
        payloadLimitBytes: Int,
        tokenBytes: ClosedRange<Int>,
        spread: UInt32?,
        coalescingWindow: Duration,
        tokenGuard: InvalidTokenGuard,
        breaker: TopicBreaker,
        deadTokens: TombstoneFilter? = nil,
        lanes: [GatewayLane],
        probation: [GatewayLane]
    ) {
        self.index = index
        self.environment = environment
        self.bundleID = bundleID
        self.payloadLimitBytes = payloadLimitBytes
        self.tokenBytes = tokenBytes
        self.spread = spread
        self.coalescingWindow = coalescingWindow
        self.tokenGuard = tokenGuard
        self.breaker = breaker
        precondition(lanes.count == probation.count)
        ownLanes = lanes
        probations = zip(lanes, probation).map { Probation(of: $0, lane: $1) }
        self.lanes = probation + lanes
        affinity = TokenAffinity(lanes: lanes.count)
        self.deadTokens = deadTokens
        tokens = TokenTable.Space(environment: environment, bundleID: bundleID)
        topicHash = ParkedLags.topicHash(environment: environment, bundleID: bundleID)
        requestKey = FingerprintKey(.request, environment: environment, bundleID: bundleID)
        windowKey = FingerprintKey(.window, environment: environment, bundleID: bundleID)
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
        let lane = ownLanes[affinity.lane(checksum: checksum)]
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
        lane.machine.commit(reference, bytes: bytes, checksum: checksum)
    }
}
