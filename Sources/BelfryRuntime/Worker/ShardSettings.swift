import NIOCore
import PipelineCore
import TLSTransport

/// What a shard decides by: the configuration, with certificates loaded.
struct ShardSettings: Sendable {
    /// One environment as a shard needs it.
    struct Environment: Sendable {
        var settings: EnvironmentSettings
        /// By bundle ID.
        var contexts: [String: TLSContext]
    }

    var names: TopicNames
    var environments: [String: Environment]
    var environmentNames: [String]
    var connectionsPerTopic: Int
    /// Shared by all shards of the process.
    var connectionBudget: ProcessConnectionBudget
    var connectTimeout: TimeAmount
    var maxUncommitted: Int
    var revokeDeadline: Duration
    var stopTimeout: Duration
    var outcomes: OutcomeSelection
    /// Of each topic, as it starts.
    var tokenGuard: InvalidTokenGuard
    /// Of each topic, as it starts.
    var breaker: TopicBreaker
    /// For how long the sending waits for Redis; nil: for as long as it takes.
    var redisPatience: Duration?
    /// For how long arrived requests are remembered; zero: not at all.
    var dedupeWindow: Duration
    /// Records taken from Kafka at once, and tokens looked up in one command.
    var batchRecords: Int
    /// Most bytes of metadata in a commit.
    var metadataBytes: Int
    /// UNIX milliseconds now.
    var unixMilliseconds: @Sendable () -> Int64
    /// 64 uniformly random bits.
    var randomBits: @Sendable () -> UInt64

    private var configuration: BelfryConfiguration

    init(
        _ configuration: BelfryConfiguration,
        certificates: CertificateDirectory,
        unixMilliseconds: @escaping @Sendable () -> Int64
    ) throws {
        var environments: [String: Environment] = [:]
        for environment in configuration.environments {
            environments[environment.name] = Environment(
                settings: environment,
                contexts: try certificates.clientContexts(for: environment)
            )
        }
        self.init(configuration, environments: environments, unixMilliseconds: unixMilliseconds) {
            .random(in: .min ... .max)
        }
    }

    /// With time and randomness as arguments.
    init(
        _ configuration: BelfryConfiguration,
        environments: [String: Environment],
        unixMilliseconds: @escaping @Sendable () -> Int64,
        randomBits: @escaping @Sendable () -> UInt64
    ) {
        self.configuration = configuration
        self.unixMilliseconds = unixMilliseconds
        self.randomBits = randomBits
        let worker = configuration.worker
        names = TopicNames()
        self.environments = environments
        environmentNames = environments.keys.sorted()
        connectionsPerTopic = worker.connectionsPerTopic
        connectionBudget = ProcessConnectionBudget(perMinute: worker.connectionsPerMinute)
        connectTimeout = TimeAmount(worker.connectTimeout)
        maxUncommitted = worker.maxUncommitted
        revokeDeadline = worker.revokeDeadline
        stopTimeout = worker.stopTimeout
        outcomes = configuration.outcomes
        tokenGuard = InvalidTokenGuard(share: worker.invalidTokenShare, sample: worker.invalidTokenSample)
        breaker = TopicBreaker(
            probe: Backoff(
                base: worker.parkProbeBase,
                cap: worker.parkProbeCap,
                floor: worker.parkProbeBase / 3
            ),
            patience: worker.parkAfter,
            refusedShare: worker.invalidTokenShare,
            sampleSize: min(worker.invalidTokenSample, ShardLimits.probeSample)
        )
        redisPatience = configuration.redis.whenAway == .send ? configuration.redis.awayAfter : nil
        dedupeWindow = worker.dedupeWindow
        batchRecords = worker.batch
        metadataBytes = ShardLimits.metadataBytes
    }

    func publishes(_ outcome: OutcomeKind) -> Bool {
        switch outcomes {
        case .all: true
        case .failures: outcome.isFailure
        case .none: false
        }
    }

    func topic(_ bundleID: String, in environment: Environment) -> (settings: TopicSettings, limits: LaneLimits) {
        let topic = configuration.topic(bundleID, in: environment.settings)
        let worker = configuration.worker
        let limits = LaneLimits(
            confirmationWindow: worker.confirmationWindow,
            unknownFate: topic.unknownFate,
            inFlight: worker.inFlightPerConnection,
            inFlightBytes: worker.inFlightBytes,
            sentinelTimeout: worker.sentinelTimeout,
            connectionMaxAge: worker.connectionMaxAge > .zero ? worker.connectionMaxAge : nil,
            idleTimeout: worker.idleTimeout,
            backoff: Backoff(
                base: worker.backoffBase,
                cap: worker.backoffCap,
                floor: min(worker.backoffBase, .milliseconds(100))
            ),
            processingAttempts: worker.processingAttempts
        )
        return (topic, limits)
    }
}

/// The names of the Kafka contract.
public struct TopicNames: Sendable, Equatable {
    public var requests = "push.requests"
    public var registrations = "push.registrations"
    public var feedback = "push.feedback"
    public var tombstones = "push.tombstones"
    public var parked = "push.parked"
    public var outcomes = "push.outcomes"
    public var deadLetters = "push.dead-letters"

    public init() {}
}
