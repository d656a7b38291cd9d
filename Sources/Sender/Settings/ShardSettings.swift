import BelfrySupport
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes
import RequestRules
import TokenState

/// The settings of a shard's decisions.
///
/// Some may change while the shard runs, see ``changed(to:)``; the others are those of the start.
struct ShardSettings: Sendable {
    /// The lane that the shard serves.
    private(set) var lane = RequestLane.normal
    /// The lanes that the process serves.
    private(set) var lanes = [RequestLane.normal]
    /// The requests are those of the shard's lane.
    var names: TopicNames
    /// The consumer group of the lane in all workers.
    var group: String
    var firstStart: FirstStartPolicy
    /// Environments by name.
    var environments: [String: EnvironmentSettings]
    var environmentNames: [String]
    var connectionsPerTopic: Int
    /// Shared by all shards of the process.
    var connectionBudget: ProcessConnectionBudget
    var connectTimeout: TimeAmount
    /// The longest time for notifications in flight to settle before partitions are given back.
    var settlePatience: Duration
    /// The health of topics, shared by all shards of the process.
    var health: AppHealthRegistry
    /// The longest time without an answer to a commit before sending stops.
    var commitPatience: Duration
    /// The longest time that records may pin the fetch buffers that they came in.
    var pinnedFor: Duration
    /// The longest wait of sending for Redis; nil: without limit.
    var redisPatience: Duration?
    /// The time for which arrived requests are remembered; zero: not at all.
    var dedupeWindow: Duration
    /// Records taken from Kafka at once, and tokens looked up in one command.
    var batchRecords: Int
    /// Most bytes of metadata in a commit.
    var metadataBytes: Int
    /// Limits of what publishers can make up.
    var topicLimits = AppLimits()
    /// Told apart in commits; see ``RequestValue/edition``.
    var decoderEdition = RequestValue.edition
    /// Longest near stretch at a take-over; see ``ShardLimits/nearRecords``.
    var nearRecords = ShardLimits.nearRecords
    var nearBytes = ShardLimits.nearBytes
    /// Room for tokens that the gateway accepted, of a topic with invalid ones: the logarithm of its buckets of eight.
    var acceptedTokenBits = 16
    /// The key of topics' hashes in a partition that has none yet.
    var newSalt: @Sendable () -> AppSalt = { .none }
    /// Work on publications in one turn; see ``PublicationDesk``.
    var publicationUnits = ShardLimits.publicationUnits
    /// UNIX milliseconds now.
    var unixMilliseconds: @Sendable () -> Int64
    /// 64 uniformly random bits.
    var randomBits: @Sendable () -> UInt64

    /// As the shard's lane has it.
    private(set) var configuration: BelfryConfiguration

    /// Makes the settings, with time and randomness as arguments.
    init(
        _ configuration: BelfryConfiguration,
        unixMilliseconds: @escaping @Sendable () -> Int64,
        randomBits: @escaping @Sendable () -> UInt64
    ) {
        self.configuration = configuration
        self.unixMilliseconds = unixMilliseconds
        self.randomBits = randomBits
        let worker = configuration.worker
        names = TopicNames(configuration.kafka)
        group = GroupNames(configuration).worker
        firstStart = worker.start
        environments = Dictionary(uniqueKeysWithValues: configuration.environments.map { ($0.name, $0) })
        environmentNames = environments.keys.sorted()
        connectionsPerTopic = worker.connectionsPerTopic
        connectionBudget = ProcessConnectionBudget(perMinute: worker.connectionsPerMinute)
        connectTimeout = TimeAmount(worker.connectTimeout)
        settlePatience = worker.confirmationWindow + ShardLimits.settleReserve
        health = AppHealthRegistry(limits: worker.healthLimits)
        commitPatience = worker.commitPatience
        pinnedFor = worker.confirmationWindow + .seconds(1)
        redisPatience = configuration.redis.whenAway == .send ? configuration.redis.awayAfter : nil
        dedupeWindow = worker.dedupeWindow
        batchRecords = worker.batch
        metadataBytes = configuration.kafka.commitMetadataBytes
    }

    // MARK: Lanes

    /// The settings of the shards of a lane. They share the health of topics and the budget of connections with all
    /// other shards of the process.
    ///
    /// - Parameter lanes: those that the process serves.
    func serving(_ lane: RequestLane, among lanes: [RequestLane]) -> ShardSettings {
        var settings = self
        settings.lane = lane
        settings.lanes = lanes
        settings.names.requests = names.requests(lane)
        settings.group = GroupNames(configuration).worker(lane)
        settings.configuration = configuration.narrowed(to: lane, among: lanes)
        settings.commitPatience = settings.configuration.worker.commitPatience
        return settings
    }

    /// The Kafka topic into which records over a quota go.
    var movesTo: String { names.requests(.normal) }

    /// The Kafka topic out of which such records come into the lane; nil: none does.
    var movesFrom: String? { lane == .normal ? names.requests(.urgent) : nil }

    // MARK: Settings that may change

    var maxUncommitted: Int { configuration.worker.maxUncommitted }
    var revokeDeadline: Duration { configuration.worker.revokeDeadline }
    var stopTimeout: Duration { configuration.worker.stopTimeout }
    /// The longest standstill of a lane.
    var standstillPatience: Duration { configuration.worker.parkAfter }
    /// The bytes that a shard may hold.
    var memory: MemoryBudget {
        let worker = configuration.worker
        return MemoryBudget(limitBytes: worker.shardMemoryBytes, topicLimitBytes: worker.topicMemoryBytes)
    }

    /// These settings with those of another configuration that may change while shards run.
    ///
    /// - Parameter other: differs from the present configuration in such keys only, see `ConfigurationKeys`.
    func changed(to other: BelfryConfiguration) -> ShardSettings {
        var settings = self
        settings.configuration = other.narrowed(to: lane, among: lanes)
        return settings
    }

    /// Changes what the shards of the process share, for all of them.
    func useShared(_ worker: WorkerSettings) {
        connectionBudget.use(perMinute: worker.connectionsPerMinute)
        health.use(worker.healthLimits)
    }

    /// The bundles whose connections are open before anything is to be sent, in order; of the urgent lane alone.
    var warmBundles: [String] {
        guard lane == .urgent else { return [] }
        return configuration.apps.filter { $0.value.urgentWarm }.map(\.key).sorted()
    }

    func publishes(_ outcome: OutcomeKind) -> Bool {
        switch configuration.outcomes {
        case .all: true
        case .failures: outcome.isFailure
        case .none: false
        }
    }

    /// The configuration has an entry for the bundle.
    func isNamed(bundleID: String) -> Bool { configuration.apps[bundleID] != nil }

    /// Makes a topic of a configured environment.
    func makeTopic(_ index: Int32, environment: String, bundleID: String, filters: DeadTokenSets?) -> Topic {
        guard let place = environments[environment] else { preconditionFailure("the environment is configured") }
        return Topic(
            index: index,
            environment: environment,
            bundleID: bundleID,
            transport: place.transport,
            settings: topicSettings(bundleID, in: place),
            health: health.health(environment: environment, bundleID: bundleID),
            deadTokens: filters?.deadTokens(environment: environment, bundleID: bundleID)
        )
    }

    /// The limits of a topic over HTTP/2.
    func streamLimits(_ limits: LaneLimits) -> StreamLimits {
        StreamLimits(
            unknownFate: limits.unknownFate,
            inFlight: limits.inFlight,
            requestTimeout: configuration.worker.requestTimeout,
            backoff: limits.backoff,
            retryFor: limits.retryFor,
            loneCloses: limits.loneCloses
        )
    }

    /// The limits of the connections with one credential.
    ///
    /// - Parameter startsWithOneStream: the credential is a provider key.
    func streamPoolLimits(startsWithOneStream: Bool) -> StreamPoolLimits {
        let worker = configuration.worker
        return StreamPoolLimits(
            connections: connectionsPerTopic,
            startsWithOneStream: startsWithOneStream,
            peerTimeout: worker.peerTimeout,
            idleTimeout: worker.idleTimeout,
            connectionMaxAge: worker.connectionMaxAge > .zero ? worker.connectionMaxAge : nil,
            backoff: Backoff(
                base: worker.backoffBase,
                cap: worker.backoffCap,
                floor: min(worker.backoffBase, .milliseconds(100))
            )
        )
    }

    /// Gives a topic its settings of the present configuration.
    func update(_ topic: Topic) {
        guard let place = environments[topic.environment] else { return }
        topic.use(topicSettings(topic.bundleID, in: place))
    }

    private func topicSettings(_ bundleID: String, in environment: EnvironmentSettings) -> Topic.Settings {
        let topic = configuration.topic(bundleID, in: environment)
        let worker = configuration.worker
        let limits = LaneLimits(
            confirmationWindow: worker.confirmationWindow,
            unknownFate: topic.unknownFate,
            inFlight: worker.inFlightPerConnection,
            inFlightBytes: worker.inFlightBytes,
            sentinelTimeout: worker.sentinelTimeout,
            peerTimeout: worker.peerTimeout,
            standstillPatience: standstillPatience,
            connectionMaxAge: worker.connectionMaxAge > .zero ? worker.connectionMaxAge : nil,
            idleTimeout: worker.idleTimeout,
            backoff: Backoff(
                base: worker.backoffBase,
                cap: worker.backoffCap,
                floor: min(worker.backoffBase, .milliseconds(100))
            ),
            processingAttempts: worker.processingAttempts,
            retryFor: worker.retryFor
        )
        var settings = Topic.Settings(topic, tokenBytes: 32...environment.tokenLimitBytes, limits: limits)
        // Of the other lanes nothing is moved.
        if lane != .urgent { settings.urgentQuota = nil }
        return settings
    }
}

extension WorkerSettings {
    fileprivate var healthLimits: AppHealth.Limits {
        AppHealth.Limits(
            probe: Backoff(base: parkProbeBase, cap: parkProbeCap, floor: parkProbeBase / 3),
            probeTimeout: parkAfter + confirmationWindow,
            refusedShare: invalidTokenShare,
            refusedSample: invalidTokenSample,
            probeSample: min(invalidTokenSample, AppFlow.probeSample),
            pendingTombstones: ShardLimits.pendingTombstones
        )
    }
}
