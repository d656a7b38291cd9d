import PipelineCore

/// The sender worker.
public struct WorkerSettings: Sendable, Equatable {
    /// Event-loop threads, each with a consumer and connections of its own.
    public var shards = 2
    /// The consumer group of all workers.
    public var groupID = "belfry-worker"
    /// Most records taken from the consumer at once, and most tokens looked up in one Redis command.
    public var batch = 512
    /// Connections per shard, environment and topic.
    public var connectionsPerTopic = 2
    /// How long the gateway must stay silent before a notification is presumed accepted; the answer arrives 100–800 ms
    /// after the offending bytes. [field]
    public var confirmationWindow = Duration.seconds(2)
    /// What happens to notifications whose fate nobody can tell.
    public var unknownFate = UnknownFatePolicy.resend
    /// Most notifications of a topic taken in from one partition and not behind its cursor.
    public var maxUncommitted = 100_000
    /// Most notifications handed to a connection and not settled.
    public var inFlightPerConnection = 262_144
    /// Most bytes of frames handed to a connection and not settled, as they lie in memory.
    public var inFlightBytes = 64 << 20
    /// How often a notification that met a processing error (status 1) is sent in all.
    public var processingAttempts = 5
    /// How long a sentinel's answer is waited for, at a stop or before an old connection is closed; never shorter than the
    /// confirmation window. [field]
    public var sentinelTimeout = Duration.seconds(5)
    /// Age at which a connection is replaced at the latest; zero: never. Connections are best kept open. [10]
    public var connectionMaxAge = Duration.zero
    /// A connection on which nothing was sent for so long is closed, before something in between cuts it silently. [talk]
    public var idleTimeout = Duration.seconds(3600)
    /// How long connecting and the handshake together may take.
    public var connectTimeout = Duration.seconds(10)
    /// The longest first wait after a connection failed; it doubles from failure to failure.
    public var backoffBase = Duration.seconds(1)
    /// The longest wait.
    public var backoffCap = Duration.seconds(60)
    /// New connections per minute that the process allows itself. [10]
    public var connectionsPerMinute = 120
    /// The share of "invalid token" answers above which a topic is not sent for, but probed.
    public var invalidTokenShare = 0.5
    /// How many answers of a topic are awaited before that share is judged.
    public var invalidTokenSample = 100
    /// How long a connection may stand still, with work to do, before its topic counts as unreachable.
    public var parkAfter = Duration.seconds(60)
    /// The longest first wait before a topic that does not work is probed; it doubles from failure to failure.
    public var parkProbeBase = Duration.seconds(30)
    /// The longest wait.
    public var parkProbeCap = Duration.seconds(300)
    /// How long the group waits for a bundle's certificate before it gives records up, and only those of a bundle
    /// without registered tokens.
    public var certificateGrace = Duration.seconds(3600)
    /// Whether tokens are looked up in Redis before they are sent to. Without, dead tokens are not known.
    public var tokenState = true
    /// Whether dead tokens are kept in memory, as push.tombstones tells of them, so that Redis is asked for those only.
    public var tombstoneFilter = true
    /// How old what is kept may be before Redis is asked for every token.
    public var filterMaxAge = Duration.seconds(30)
    /// Most memory for what is kept: 11 to 22 bytes a dead token, 32 while a bundle's part grows. What does not fit is given up,
    /// and Redis asked for every token of the bundle; this holds a hundred million.
    public var filterMemoryBytes = 2 << 30
    /// For how long it is remembered that a request arrived at a token, so that it is not sent to it again; zero: not at all.
    public var dedupeWindow = Duration.zero
    /// A device gets at most one notification per coalescing key in so long a time, the newest at its end; zero: what does
    /// not wait anyway is sent at once.
    public var coalescingWindow = Duration.zero
    /// A peer that acknowledges nothing of what was written for so long is dead, whatever TCP believes.
    public var peerTimeout = Duration.seconds(10)
    /// How long a commit may go unanswered before nothing more is sent: somebody else may have the partitions by then. A third
    /// of the consumer group's session time-out (45 s by default).
    public var commitPatience = Duration.seconds(15)
    /// Most memory of one shard for records and notifications that are not done.
    public var shardMemoryBytes = 256 << 20
    /// Most of it for one topic.
    public var topicMemoryBytes = 128 << 20
    /// How long a stop may take before what is unsettled is left to the next worker.
    public var stopTimeout = Duration.seconds(30)
    /// How long a revoked partition may wait for its notifications to settle; must stay below the session time-out of
    /// the consumer group (45 s by default).
    public var revokeDeadline = Duration.seconds(10)

    public init() {}
}

/// The registrar: push.registrations and push.feedback into Redis.
public struct RegistrarSettings: Sendable, Equatable {
    /// The consumer group of all registrars.
    public var groupID = "belfry-registrar"
    /// Most records taken from the consumer, and applied in one round trip to Redis, at once.
    public var batch = 512

    public init() {}
}

/// The harvester of the feedback service.
public struct HarvesterSettings: Sendable, Equatable {
    /// The time from one reading of a topic's list to the next. At least daily is due. [13]
    public var interval = Duration.seconds(3600)
    /// How long a harvester holds a topic's lease without renewing it. Reading clears the list, so that only one may.
    public var lease = Duration.seconds(60)
    /// How long connecting and the handshake together may take.
    public var connectTimeout = Duration.seconds(10)

    public init() {}
}
