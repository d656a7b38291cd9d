import APNsProtocol
import BelfrySupport
import PipelineCore
import RequestRules
import TokenState

/// One bundle in one environment, as known to every stage of a shard. Immutable.
final class Topic {
    /// Position among the topics of the shard.
    let index: Int32
    let environment: String
    let bundleID: String
    /// The place of its tokens' state in Redis.
    let tokens: TokenTable.Space
    /// The dead tokens, as published in push.tombstones; nil: not followed.
    let deadTokens: DeadTokenSet?
    let requestKey: FingerprintKey
    let windowKey: FingerprintKey
    /// Window of coalescing. Zero: a request that does not wait anyway is sent at once.
    let coalescingWindow: Duration
    let transport: EnvironmentSettings.Transport
    let payload: PayloadSizeRule
    let tokenRule: TokenRule
    let sensitiveData: SensitiveDataPolicy
    let limits: LaneLimits
    /// Names the topic in the connection budget of the process.
    let budgetNumber: UInt64
    /// The topic's health, judged for the whole process.
    let health: SharedTopicHealth

    init(
        index: Int32,
        environment: String,
        bundleID: String,
        transport: EnvironmentSettings.Transport,
        settings: TopicSettings,
        tokenBytes: ClosedRange<Int>,
        limits: LaneLimits,
        health: SharedTopicHealth,
        deadTokens: DeadTokenSet?
    ) {
        self.index = index
        self.environment = environment
        self.bundleID = bundleID
        self.transport = transport
        payload = settings.payload
        coalescingWindow = settings.coalescingWindow
        tokenRule = TokenRule(lengths: tokenBytes, spread: settings.spread)
        sensitiveData = settings.sensitiveData
        self.limits = limits
        self.health = health
        self.deadTokens = deadTokens
        budgetNumber = TopicHash(bundleID: bundleID, environment: environment).value
        tokens = TokenTable.Space(environment: environment, bundleID: bundleID)
        requestKey = FingerprintKey(.request, environment: environment, bundleID: bundleID)
        windowKey = FingerprintKey(.window, environment: environment, bundleID: bundleID)
    }
}
