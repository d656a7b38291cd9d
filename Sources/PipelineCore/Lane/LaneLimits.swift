/// What happens to notifications whose fate nobody can tell (`unknown-fate`).
public enum UnknownFatePolicy: String, Equatable, Sendable, CaseIterable {
    /// Send them again: at least once.
    case resend
    /// Take them for accepted: at most once.
    case presume
    /// Give them the outcome `unknown` and go on.
    case giveUp = "give-up"
}

/// The settings a lane decides by.
public struct LaneLimits: Equatable, Sendable {
    /// How long the gateway must stay silent, counted from the acknowledgement of its kernel, before a notification is
    /// presumed accepted.
    /// The answer arrives 100–800 ms after the offending bytes ([field]).
    public var confirmationWindow: Duration
    public var unknownFate: UnknownFatePolicy
    /// Most notifications handed to a connection and not settled.
    public var inFlight: Int
    /// Most bytes of frames handed to a connection and not settled, counted in the log's memory; at least a chunk of it.
    public var inFlightBytes: Int
    /// Most bytes kept of presumed notifications for an answer that comes late.
    public var retainedBytes: Int
    /// How long the answer to a sentinel is waited for; never shorter than the window, or a sentinel would cost what silence
    /// settles.
    public var sentinelTimeout: Duration
    /// A peer that acknowledges nothing of what was written for so long is dead, whatever TCP believes.
    public var peerTimeout: Duration
    /// Age at which a connection is replaced at the latest; nil: never.
    public var connectionMaxAge: Duration?
    /// A connection on which nothing was sent for so long is closed.
    public var idleTimeout: Duration
    /// The wait after failures of a connection.
    public var backoff: Backoff
    /// The wait before a lane tries a topic again that was refused.
    public var topicBackoff: Backoff
    /// How often a notification that met a processing error (status 1) is sent in all.
    public var processingAttempts: Int
    /// How often a connection may end without a word on a notification alone in flight before that is refused; 1 … 255.
    public var loneCloses: Int

    public init(
        confirmationWindow: Duration = .seconds(2),
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 262_144,
        inFlightBytes: Int = 64 << 20,
        retainedBytes: Int = 1 << 20,
        sentinelTimeout: Duration = .seconds(5),
        peerTimeout: Duration = .seconds(10),
        connectionMaxAge: Duration? = nil,
        idleTimeout: Duration = .seconds(3600),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        topicBackoff: Backoff = Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10)),
        processingAttempts: Int = 5,
        loneCloses: Int = 5
    ) {
        precondition(confirmationWindow > .zero && inFlight >= 1 && retainedBytes >= 0 && processingAttempts >= 1)
        precondition(sentinelTimeout > .zero && idleTimeout > .zero && peerTimeout > .zero)
        precondition((1...255).contains(loneCloses))
        precondition(connectionMaxAge.map { $0 > .zero } ?? true)
        precondition(inFlightBytes >= FrameLog.chunkBytes)
        self.confirmationWindow = confirmationWindow
        self.unknownFate = unknownFate
        self.inFlight = inFlight
        self.inFlightBytes = inFlightBytes
        self.retainedBytes = retainedBytes
        self.sentinelTimeout = max(sentinelTimeout, confirmationWindow)
        self.peerTimeout = peerTimeout
        self.connectionMaxAge = connectionMaxAge
        self.idleTimeout = idleTimeout
        self.backoff = backoff
        self.topicBackoff = topicBackoff
        self.processingAttempts = processingAttempts
        self.loneCloses = loneCloses
    }
}
