/// The settings of a ``StreamPool``'s decisions.
public struct StreamPoolLimits: ConnectionLimits, Equatable, Sendable {
    /// Most connections that are open or being opened; 1 or more.
    public var connections: Int
    /// A connection gets one stream until a request on it was accepted: with a provider token [field].
    public var startsWithOneStream: Bool
    /// A peer that owes an answer and sends no byte for this time is dead, whatever TCP reports.
    public var peerTimeout: Duration
    /// The silence after which a connection with unanswered requests is pinged; less than ``peerTimeout``.
    public var pingAfter: Duration
    /// The silence after which an idle connection carries no request before it has answered a ping. [ours]
    public var doubtedAfter: Duration
    /// The longest wait for that answer: nothing is lost with an idle connection, and requests wait. [ours]
    public var proofTimeout: Duration
    /// The silence after which an idle connection is pinged, used or not: after 1–2 idle hours they are dead [field].
    public var keepAliveAfter: Duration
    /// The idle time after which a connection is closed.
    public var idleTimeout: Duration
    /// The greatest age of a connection before it is replaced; nil: never.
    public var connectionMaxAge: Duration?
    /// Requests must have waited for streams for so long before there is one connection more. [ours]
    public var growAfter: Duration
    /// The least time between two openings, unless there is no connection at all. [ours]
    public var growEvery: Duration
    /// The time for which fewer connections must have been enough before there is one less. [ours]
    public var shrinkAfter: Duration
    /// The wait after failures of connections.
    public var backoff: Backoff
    /// The wait after a refused certificate.
    public var topicBackoff: Backoff

    public init(
        connections: Int,
        startsWithOneStream: Bool,
        peerTimeout: Duration = .seconds(10),
        pingAfter: Duration? = nil,
        doubtedAfter: Duration = .seconds(60),
        proofTimeout: Duration = .seconds(2),
        keepAliveAfter: Duration = .seconds(3600),
        idleTimeout: Duration = .seconds(3600),
        connectionMaxAge: Duration? = nil,
        growAfter: Duration = .seconds(1),
        growEvery: Duration = .seconds(2),
        shrinkAfter: Duration = .seconds(60),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        topicBackoff: Backoff = Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10))
    ) {
        precondition(connections >= 1 && peerTimeout > .zero && idleTimeout > .zero && keepAliveAfter > .zero)
        precondition(pingAfter.map { $0 < peerTimeout } ?? true)
        precondition(doubtedAfter > .zero && proofTimeout > .zero && shrinkAfter > .zero)
        precondition(growAfter >= .zero && growEvery >= .zero)
        precondition(connectionMaxAge.map { $0 > .zero } ?? true)
        self.connections = connections
        self.startsWithOneStream = startsWithOneStream
        self.peerTimeout = peerTimeout
        self.pingAfter = pingAfter ?? peerTimeout / 2
        self.doubtedAfter = doubtedAfter
        self.proofTimeout = min(proofTimeout, peerTimeout)
        self.keepAliveAfter = keepAliveAfter
        self.idleTimeout = idleTimeout
        self.connectionMaxAge = connectionMaxAge
        self.growAfter = growAfter
        self.growEvery = growEvery
        self.shrinkAfter = shrinkAfter
        self.backoff = backoff
        self.topicBackoff = topicBackoff
    }
}
