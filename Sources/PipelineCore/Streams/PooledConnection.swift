/// A pool's data about one connection.
public struct PooledConnection: Equatable, Sendable {
    /// The state of a connection.
    ///
    ///     connecting ──▶ open ──▶ draining
    ///
    /// Each can end, which removes it from the pool.
    public enum Phase: Equatable, Sendable {
        case connecting
        /// Takes requests.
        case open
        /// Takes none; those in flight may still be answered.
        case draining
    }

    /// Never used again in its pool.
    public let number: UInt32
    public internal(set) var phase = Phase.connecting
    /// The time of opening; while connecting, of the attempt.
    public internal(set) var openedAt: MonotonicTime
    /// Streams that the peer allows now.
    public internal(set) var peerLimit = 0
    /// Requests without an end.
    public internal(set) var openStreams = 0
    /// A request was accepted.
    public internal(set) var hasAccepted = false
    /// A request was answered.
    public internal(set) var hasAnswered = false

    /// It was begun for warmth alone, and has carried no request.
    var isForWarmth = false
    /// Streams that we allow ourselves after refusals; grows with answers.
    var ownLimit = Int.max
    /// The only stream was opened to try whether streams are refused still.
    var isTrying = false
    /// Tries in a row that were refused.
    var refusedTries = 0
    /// No stream is opened before this time, because tries were refused.
    var pausedUntil = MonotonicTime(nanoseconds: 0)
    /// Bodies wait for the peer's windows.
    var isStalled = false
    /// The latest stream that was answered.
    var newestAnswered: Int32 = 0

    /// The time of the last byte from the peer.
    var heardAt: MonotonicTime
    /// Without a further byte the connection is doubted from this time on: it carries a request only after a ping.
    var doubtedFrom: MonotonicTime
    /// The latest time at which the connection became busy or idle.
    var turnedAt: MonotonicTime
    /// The time of a ping that no byte has followed; nil: there is none.
    var pingedAt: MonotonicTime?
    /// A request waits for the connection to prove that it lives.
    var wantsProof = false
    /// Since when requests have found it idle and closed to them; nil: it was not, or they have not looked since.
    var uselessSince: MonotonicTime?
    /// The time for replacing it.
    var rotation: ConnectionRotation
    /// The peer has sent something since the handshake.
    var hasSpoken = false
    /// The peer said goodbye in order.
    var isDismissed = false
    /// The peer said goodbye because of the credential.
    var hasRefusedCredential = false

    /// - Parameter edition: of the credential with which it is opened.
    init(number: UInt32, edition: UInt64, now: MonotonicTime) {
        self.number = number
        rotation = ConnectionRotation(edition: edition, maxAge: nil, now: now, random: 0)
        openedAt = now
        heardAt = now
        doubtedFrom = now
        turnedAt = now
    }

    /// Most streams that may be open now.
    ///
    /// - Parameter startsWithOne: see ``StreamPoolLimits/startsWithOneStream``.
    func streamLimit(startsWithOne: Bool) -> Int {
        let limit = min(peerLimit, ownLimit)
        return startsWithOne && !hasAccepted ? min(limit, 1) : limit
    }

    var isIdle: Bool { openStreams == 0 }

    /// The peer lets no request onto the idle connection.
    var isUseless: Bool { phase == .open && isIdle && (peerLimit == 0 || isStalled) }

    /// The connection is to be replaced, for its age or its credential.
    func isOld(now: MonotonicTime) -> Bool { phase == .open && rotation.isDue(now: now) }
}
