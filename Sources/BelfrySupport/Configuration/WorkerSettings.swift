import PipelineCore

/// The sender worker.
public struct WorkerSettings: Sendable, Equatable {
    /// Event-loop threads, each with a consumer and connections of its own.
    public var shards = 2
    /// The consumer group of all workers.
    public var groupID = "belfry-worker"
    /// The start of partitions that were read before and of which the group has no commit.
    public var start = FirstStartPolicy.stand
    /// Most records taken from the consumer at once, and most tokens looked up in one Redis command.
    public var batch = 512
    /// Most connections per shard, environment and topic; over HTTP/2, of the topics that share a credential.
    public var connectionsPerTopic = 2
    /// Silence of the gateway after which a notification is presumed accepted. The answer arrives 100–800 ms after the
    /// offending bytes. [field]
    public var confirmationWindow = Duration.seconds(2)
    /// Policy for notifications whose fate is unknown.
    public var unknownFate = UnknownFatePolicy.resend
    /// Most notifications of a topic taken in from one partition and not behind its cursor.
    public var maxUncommitted = 500_000
    /// Most notifications handed to a connection and not settled.
    public var inFlightPerConnection = 1_048_576
    /// Most bytes of frames handed to a connection and not settled, as they lie in memory.
    public var inFlightBytes = 256 << 20
    /// Attempts in all for a notification that met a processing error (status 1).
    public var processingAttempts = 5
    /// Longest time for which such a notification is tried again.
    public var retryFor = Duration.seconds(60)
    /// Longest wait for a sentinel's answer. It holds at a stop and before an old connection is closed; never shorter
    /// than the confirmation window. [field]
    public var sentinelTimeout = Duration.seconds(5)
    /// Age at which a connection is replaced at the latest; zero: never. Connections are best kept open. [10]
    public var connectionMaxAge = Duration.zero
    /// A connection on which nothing was sent for so long is closed, before something in between cuts it silently.
    /// [talk]
    public var idleTimeout = Duration.seconds(3600)
    /// Longest time for connecting and the handshake together.
    public var connectTimeout = Duration.seconds(10)
    /// The longest first wait after a connection failed; it doubles from failure to failure.
    public var backoffBase = Duration.seconds(1)
    /// The longest wait.
    public var backoffCap = Duration.seconds(60)
    /// New connections per minute that the process allows itself. [10]
    public var connectionsPerMinute = 120
    /// The share of "invalid token" answers above which a topic is not sent for, but probed.
    public var invalidTokenShare = 0.5
    /// Answers of a topic that are awaited before that share is judged.
    public var invalidTokenSample = 100
    /// Longest standstill of a connection with work before its topic counts as unreachable.
    public var parkAfter = Duration.seconds(60)
    /// The longest first wait before a topic that does not work is probed; it doubles from failure to failure.
    public var parkProbeBase = Duration.seconds(30)
    /// The longest wait.
    public var parkProbeCap = Duration.seconds(300)
    /// Longest wait of the group for a bundle's certificate. After it the group gives records up, and only those of a
    /// bundle without registered tokens.
    public var certificateGrace = Duration.seconds(3600)
    /// Tokens are looked up in Redis before they are sent to. Without, dead tokens are not known.
    public var tokenState = true
    /// Dead tokens are kept in memory, as push.tombstones tells of them. So Redis is asked for those only.
    public var tombstoneFilter = true
    /// Greatest age of the filter before Redis is asked for every token.
    public var filterMaxAge = Duration.seconds(30)
    /// Most memory for what is kept: 11 to 22 bytes a dead token, 32 while a bundle's part grows. What does not fit is
    /// given up, and Redis asked for every token of the bundle; this holds a hundred million.
    public var filterMemoryBytes = 2 << 30
    /// For how long it is remembered that a request arrived at a token, so that it is not sent to it again; zero: not
    /// at all.
    public var dedupeWindow = Duration.zero
    /// A device gets at most one notification per coalescing key in so long a time, the newest at its end; zero: what
    /// does not wait anyway is sent at once.
    public var coalescingWindow = Duration.zero
    /// A peer that acknowledges nothing of what was written for so long is dead, whatever TCP believes.
    public var peerTimeout = Duration.seconds(10)
    /// Longest wait for the answer to a request over HTTP/2. Its fate is unknown then.
    public var requestTimeout = Duration.seconds(10)
    /// Longest wait for a commit's answer before nothing more is sent. Another worker may have the partitions by then.
    public var commitPatience = commitPatience(session: KafkaSettings().sessionTimeout)
    /// Most memory of one shard for records and notifications that are not done.
    public var shardMemoryBytes = 1 << 30
    /// Most of it for one topic.
    public var topicMemoryBytes = 512 << 20
    /// Longest duration of a stop. What is unsettled then is left to the next worker.
    public var stopTimeout = Duration.seconds(30)
    /// Longest wait of a revoked partition for its notifications to settle. Must stay below the session time-out of the
    /// consumer group (45 s by default).
    public var revokeDeadline = Duration.seconds(10)

    public init() {}

    /// A third of the consumer group's session time-out, at least 1 s: time enough for another try before the group
    /// gives the partitions to another worker.
    static func commitPatience(session: Duration) -> Duration { max(.seconds(1), session / 3) }
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
    /// Time for which a harvester holds a topic's lease without renewing it. Reading clears the list, so that only one
    /// may.
    public var lease = Duration.seconds(60)
    /// Longest time for connecting and the handshake together.
    public var connectTimeout = Duration.seconds(10)

    public init() {}
}
