import PipelineCore
import RequestLanes

/// The sender worker. The rows of `BelfryConfiguration.workerKeys` explain each setting.
public struct WorkerSettings: Sendable, Equatable {
    public var shards = 2
    /// Ascending, each once.
    public var lanes = RequestLane.allCases
    public var groupID = "belfry-worker"
    public var start = FirstStartPolicy.stand
    public var batch = 512
    public var connectionsPerTopic = 2
    /// The answer arrives 100–800 ms after the offending bytes. [field]
    public var confirmationWindow = Duration.seconds(2)
    public var unknownFate = UnknownFatePolicy.resend
    public var maxUncommitted = 500_000
    public var inFlightPerConnection = 1_048_576
    public var inFlightBytes = 256 << 20
    public var processingAttempts = 5
    public var retryFor = Duration.seconds(60)
    /// Never shorter than the confirmation window. [field]
    public var sentinelTimeout = Duration.seconds(5)
    /// Zero: never. Connections are best kept open. [10]
    public var connectionMaxAge = Duration.zero
    /// A connection is closed before something in between cuts it silently. [talk]
    public var idleTimeout = Duration.seconds(3600)
    public var connectTimeout = Duration.seconds(10)
    public var backoffBase = Duration.seconds(1)
    public var backoffCap = Duration.seconds(60)
    /// Many connections in a short time count as an attack. [10]
    public var connectionsPerMinute = 120
    public var invalidTokenShare = 0.5
    public var invalidTokenSample = 100
    public var parkAfter = Duration.seconds(60)
    public var parkProbeBase = Duration.seconds(30)
    public var parkProbeCap = Duration.seconds(300)
    public var certificateGrace = Duration.seconds(3600)
    public var tokenState = true
    public var tombstoneFilter = true
    public var filterMaxAge = Duration.seconds(30)
    public var filterMemoryBytes = 2 << 30
    /// Zero: not at all.
    public var dedupeWindow = Duration.zero
    /// Zero: what does not wait anyway is sent at once.
    public var coalescingWindow = Duration.zero
    public var peerTimeout = Duration.seconds(10)
    public var requestTimeout = Duration.seconds(10)
    public var commitPatience = commitPatience(session: KafkaSettings().sessionTimeout)
    public var shardMemoryBytes = 1 << 30
    public var topicMemoryBytes = 512 << 20
    public var stopTimeout = Duration.seconds(30)
    /// Shorter than the session time-out of the consumer group.
    public var revokeDeadline = Duration.seconds(10)

    public init() {}

    /// The lanes whose Kafka topics a worker waits for at its start: the normal one if it is to serve it, else all of
    /// its lanes. It serves the others if their Kafka topics are there.
    public var neededLanes: [RequestLane] { lanes.contains(.normal) ? [.normal] : lanes }

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
