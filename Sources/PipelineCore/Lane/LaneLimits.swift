/// The treatment of notifications of unknown fate (`unknown-fate`).
public enum UnknownFatePolicy: String, Equatable, Sendable, CaseIterable {
    /// Send them again: at least once.
    case resend
    /// Presume them accepted: at most once.
    case presume
    /// Give them the outcome `unknown` and go on.
    case giveUp = "give-up"
}

/// The settings of a lane's decisions.
public struct LaneLimits: ConnectionLimits, Equatable, Sendable {
    /// The silence of the gateway after which a notification is presumed accepted. It counts from the acknowledgement
    /// of the gateway's kernel. The answer arrives 100–800 ms after the offending bytes ([field]).
    public var confirmationWindow: Duration
    public var unknownFate: UnknownFatePolicy
    /// Most notifications handed to a connection and not settled.
    public var inFlight: Int
    /// Most bytes of frames handed to a connection and not settled, counted in the log's memory; at least one chunk.
    public var inFlightBytes: Int
    /// Most bytes of presumed notifications kept for a late answer.
    public var retainedBytes: Int
    /// The longest wait for the answer to a sentinel. Never shorter than the window: otherwise a sentinel would cost
    /// notifications that silence settles.
    public var sentinelTimeout: Duration
    /// A peer that acknowledges none of the written bytes for this time is dead, whatever TCP reports.
    public var peerTimeout: Duration
    /// The longest time that something may wait or be in flight without anything settling.
    public var standstillPatience: Duration
    /// The greatest age of a connection before it is replaced; nil: never.
    public var connectionMaxAge: Duration?
    /// The idle time after which a connection is closed.
    public var idleTimeout: Duration
    /// The wait after failures of a connection.
    public var backoff: Backoff
    /// The wait before a lane tries a refused topic again.
    public var topicBackoff: Backoff
    /// Most attempts in all for a notification that met a processing error (status 1).
    public var processingAttempts: Int
    /// The longest time of attempts after a processing error, counted from the first refusal.
    public var retryFor: Duration
    /// Most silent ends of connections for a notification alone in flight; 1 … 255. After these it is refused.
    public var loneCloses: Int

    public init(
        confirmationWindow: Duration = .seconds(2),
        unknownFate: UnknownFatePolicy = .resend,
        inFlight: Int = 262_144,
        inFlightBytes: Int = 64 << 20,
        retainedBytes: Int = 1 << 20,
        sentinelTimeout: Duration = .seconds(5),
        peerTimeout: Duration = .seconds(10),
        standstillPatience: Duration = .seconds(60),
        connectionMaxAge: Duration? = nil,
        idleTimeout: Duration = .seconds(3600),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100)),
        topicBackoff: Backoff = Backoff(base: .seconds(30), cap: .seconds(300), floor: .seconds(10)),
        processingAttempts: Int = 5,
        retryFor: Duration = .seconds(60),
        loneCloses: Int = 5
    ) {
        precondition(confirmationWindow > .zero && inFlight >= 1 && retainedBytes >= 0 && processingAttempts >= 1)
        precondition(sentinelTimeout > .zero && idleTimeout > .zero && peerTimeout > .zero)
        precondition(standstillPatience > .zero)
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
        self.standstillPatience = standstillPatience
        self.connectionMaxAge = connectionMaxAge
        self.idleTimeout = idleTimeout
        self.backoff = backoff
        self.topicBackoff = topicBackoff
        self.processingAttempts = processingAttempts
        self.retryFor = retryFor
        self.loneCloses = loneCloses
    }

    /// These limits with those of others that may change while notifications are in flight. Each of them is looked at
    /// in the moment of one decision, and nothing is kept that was measured by it.
    public func changed(to other: LaneLimits) -> LaneLimits {
        var limits = self
        limits.unknownFate = other.unknownFate
        limits.processingAttempts = other.processingAttempts
        limits.retryFor = other.retryFor
        limits.sentinelTimeout = max(other.sentinelTimeout, confirmationWindow)
        limits.standstillPatience = other.standstillPatience
        return limits
    }
}
