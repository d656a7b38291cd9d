import APNsProtocol
import BelfrySupport
import PipelineCore
import PushSchemas
import RequestRules
import TokenState

/// One bundle in one environment, as known to every stage of a shard.
///
/// The bundle itself never changes; its settings and levers may, on the shard's event loop.
final class Topic {
    /// The settings that may change while the shard runs. Each is looked at when a record is taken in, or in the moment
    /// of a decision.
    struct Settings {
        var payload: PayloadSizeRule
        /// Window of coalescing. Zero: a request that does not wait anyway is sent at once.
        var coalescingWindow: Duration
        var tokenRule: TokenRule
        /// Tokens a minute of all shards of the lane together; nil: all.
        var urgentQuota: Int?
        var sensitiveData: SensitiveDataPolicy
        /// See ``AppSettings/ttl``.
        var ttl: Duration?
        var limits: LaneLimits

        init(_ settings: AppSettings, tokenBytes: ClosedRange<Int>, limits: LaneLimits) {
            payload = settings.payload
            coalescingWindow = settings.coalescingWindow
            tokenRule = TokenRule(lengths: tokenBytes, spread: settings.spread)
            urgentQuota = settings.urgentQuota
            sensitiveData = settings.sensitiveData
            ttl = settings.ttl
            self.limits = limits
        }
    }

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
    let transport: EnvironmentSettings.Transport
    private var settings: Settings
    /// Names the topic in the connection budget of the process.
    let budgetNumber: UInt64
    /// The topic's health, judged for the whole process.
    let health: SharedAppHealth
    /// The levers that an operator has set; changed by ``AppLevers``.
    var control = AppControl() {
        didSet { flow.use(isPaused: control.isPaused) }
    }
    /// Says what the topic may do in the shard.
    var flow = AppFlow()
    /// The push types that none of its credentials may send; empty if it has none.
    var unsendable: [PushType] = []

    init(
        index: Int32,
        environment: String,
        bundleID: String,
        transport: EnvironmentSettings.Transport,
        settings: Settings,
        health: SharedAppHealth,
        deadTokens: DeadTokenSet?
    ) {
        self.index = index
        self.environment = environment
        self.bundleID = bundleID
        self.transport = transport
        self.settings = settings
        self.health = health
        self.deadTokens = deadTokens
        budgetNumber = health.number
        tokens = TokenTable.Space(environment: environment, bundleID: bundleID)
        requestKey = FingerprintKey(.request, environment: environment, bundleID: bundleID)
        windowKey = FingerprintKey(.window, environment: environment, bundleID: bundleID)
    }

    /// Uses other settings from now on.
    func use(_ changed: Settings) { settings = changed }

    /// Window of coalescing. Zero: a request that does not wait anyway is sent at once.
    var coalescingWindow: Duration { settings.coalescingWindow }
    var payload: PayloadSizeRule { settings.payload }
    var tokenRule: TokenRule { settings.tokenRule }
    /// Tokens a minute that stay in the shard's lane, of all shards of it together; nil: all.
    var urgentQuota: Int? { settings.urgentQuota }
    var sensitiveData: SensitiveDataPolicy { settings.sensitiveData }
    var limits: LaneLimits { settings.limits }

    /// The expiration of a notification whose request says none, from the time when it goes to the gateway.
    ///
    /// - Returns: UNIX seconds; a part of one counts as a whole one. 0: it is not stored. Nil: the service's default,
    ///   which HTTP/2 alone has [later].
    func defaultExpiration(unixMilliseconds: Int64) -> UInt32? {
        guard let ttl = settings.ttl else { return nil }
        guard ttl > .zero else { return 0 }
        let end = unixMilliseconds + Int64(ttl.wholeNanoseconds / 1_000_000)
        return UInt32(clamping: (end + 999) / 1000)
    }

    /// Refuses what the service would refuse with `TopicDisallowed`: its publisher learns what is missing.
    ///
    /// - Throws: `provider-key-needed`.
    func checkCredential(for terms: DeliveryTerms) throws(RecordRefusal) {
        guard !unsendable.isEmpty, let pushType = terms.credentialType, unsendable.contains(pushType) else { return }
        let wanted =
            pushType.needsProviderToken
            ? "a provider key" : "a provider key, or a certificate for \(pushType.topic(bundle: bundleID))"
        throw RecordRefusal(
            reason: "provider-key-needed",
            detail: "the push type '\(pushType.rawValue)' needs \(wanted); \(bundleID) has none in environment "
                + "\(environment). Put a key of its team into keys.directory, and name the team: keys.team, or "
                + "apps.\(bundleID).team"
        )
    }
}
