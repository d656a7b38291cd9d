import APNsProtocol
import PipelineCore

/// The configuration of every role: one type, one file, each role reads its part.
///
/// The defaults suit an installation on one machine. Loaded by ``load(path:variables:requiresEnvironments:)``.
public struct BelfryConfiguration: Sendable, Equatable {
    public var kafka = KafkaSettings()
    public var redis = RedisSettings()
    /// Sorted by name, so that nothing depends on the file's order.
    public var environments: [EnvironmentSettings] = []
    public var certificates = CertificateSettings()
    public var keys = KeySettings()
    public var worker = WorkerSettings()
    public var registrar = RegistrarSettings()
    public var harvester = HarvesterSettings()
    public var retention = RetentionSettings()
    /// The settings of single apps, by bundle ID.
    public var apps: [String: AppOverrides] = [:]
    /// Outcomes that are published; counters always count all.
    public var outcomes = OutcomeSelection.failures
    public var operations = OperationsSettings()
    /// The least severe level that is logged.
    public var logLevel = LogLevel.info

    /// Variables beginning with `BELFRY_` that name no key, sorted: worth a warning, since one may be a typing error.
    public var unusedVariables: [String] = []

    public init() {}

    /// The environment of this name; for an empty name the only one configured. Nil: there is none, or the empty name
    /// is ambiguous.
    public func environment(named name: String) -> EnvironmentSettings? {
        if name.isEmpty { return environments.count == 1 ? environments[0] : nil }
        return environments.first { $0.name == name }
    }

    /// Settings that hold for `bundleID` in `environment`. Its own where it has some, else those of the worker and of
    /// the environment.
    public func topic(_ bundleID: String, in environment: EnvironmentSettings) -> AppSettings {
        let overrides = apps[bundleID]
        return AppSettings(
            unknownFate: overrides?.unknownFate ?? worker.unknownFate,
            spread: overrides?.spread,
            payload: environment.transport == .http2
                ? .byPushType : .limit(bytes: overrides?.payloadLimitBytes ?? environment.payloadLimitBytes),
            coalescingWindow: overrides?.coalescingWindow ?? worker.coalescingWindow,
            urgentQuota: overrides?.urgentQuota,
            sensitiveData: overrides?.sensitiveData ?? .off,
            ttl: overrides?.ttl ?? environment.ttl ?? (environment.transport == .binary ? StorageTime.limit : nil)
        )
    }
}

/// Addresses of the Kafka brokers, and the client's properties.
public struct KafkaSettings: Sendable, Equatable {
    /// `host:port`, comma-separated.
    public var brokers = "127.0.0.1:9092"
    /// Stands before the names of all Kafka topics and consumer groups, so that installations can share a cluster.
    public var prefix = ""
    /// Handed to librdkafka as they are, sorted by name. Values may be secrets: never log them.
    public var properties: [Property] = []
    /// Most bytes of metadata beside a committed offset. Brokers allow 4096 unless told otherwise.
    public var commitMetadataBytes = 4096

    /// Letters of the longest prefix: with the longest name behind it a Kafka topic keeps within the 249 of Kafka.
    package static let prefixLimit = 100

    /// Tells one installation from another: its brokers, and its prefix.
    package var place: String { prefix.isEmpty ? brokers : "\(brokers), prefix \(prefix)" }

    /// From two names of topics to the longest text in the request of librdkafka.
    static let commitMetadataRange = 32...32_767

    public struct Property: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// `session.timeout.ms`, at least a millisecond; 45 s unless set, as librdkafka has it.
    package var sessionTimeout: Duration {
        let text = properties.first { $0.name == "session.timeout.ms" }?.value
        return .milliseconds(max(1, text.flatMap(Int.init) ?? 45_000))
    }

    /// Sets the session time-out of consumer groups, unless the operator has.
    package mutating func shortenSession(to time: Duration) {
        guard !properties.contains(where: { $0.name == "session.timeout.ms" }) else { return }
        properties.append(Property(name: "session.timeout.ms", value: "\(Int(time / .milliseconds(1)))"))
        properties.sort { $0.name < $1.name }
    }

    public init() {}
}

/// Place of the certificates.
public struct CertificateSettings: Sendable, Equatable {
    /// Holds `*.pem`, `*.p12` and `*.pfx`, with `<name>.passphrase` beside those that need one, and `tls.crt` with
    /// `tls.key`, there or in a directory of their own in it.
    public var directory = "certificates"
    /// A directory that does not exist is an empty one: it was not named, and provider keys are configured.
    public var isOptional = false

    public init() {}
}

/// Place of the keys that sign provider tokens. [later]
public struct KeySettings: Sendable, Equatable {
    /// Holds `AuthKey_<key ID>.p8`, and a subdirectory for each further team; nil: there are no keys.
    public var directory: String?
    /// Team of the keys directly in the directory, and of the topics that name no team; nil: there is none.
    public var team: String?

    public init() {}
}

/// The file's settings of one topic; nil: not set.
public struct AppOverrides: Sendable, Equatable {
    public var unknownFate: UnknownFatePolicy?
    /// Over how many keys `<bundle>#<shard>` requests are spread, at least 1.
    public var spread: UInt32?
    /// Of the binary interface.
    public var payloadLimitBytes: Int?
    public var coalescingWindow: Duration?
    /// Shards of the urgent lane keep connections of the app open though nothing is to be sent.
    public var urgentWarm = false
    /// Most tokens a minute in the urgent lane, in each environment; more go into the normal one.
    public var urgentQuota: Int?
    /// For payment card and social-security numbers in what users see.
    public var sensitiveData = SensitiveDataPolicy.off
    /// See ``EnvironmentSettings/ttl``.
    public var ttl: Duration?
    /// Team of the provider key, and the key's ID: with one of them the topic uses a key, even beside a certificate.
    public var team: String?
    public var key: String?

    public init() {}
}

/// Settings that hold for one topic.
public struct AppSettings: Sendable, Equatable {
    public let unknownFate: UnknownFatePolicy
    /// Over how many keys requests are spread; nil: not said, so that a token's shard cannot be checked.
    public let spread: UInt32?
    public let payload: PayloadSizeRule
    /// See ``WorkerSettings/coalescingWindow``.
    public let coalescingWindow: Duration
    /// See ``AppOverrides/urgentQuota``; nil: there is none.
    public let urgentQuota: Int?
    /// See ``AppOverrides/sensitiveData``.
    public let sensitiveData: SensitiveDataPolicy
    /// For how long the service may store a notification whose request says no expiration; zero: not at all. Nil: as
    /// long as the service does by itself, over HTTP/2 alone [later].
    public let ttl: Duration?
}

/// The outcomes that are published.
public enum OutcomeSelection: String, Sendable, CaseIterable {
    case failures
    case all
    case none
}

/// The severity of log lines, least severe first.
public enum LogLevel: String, Sendable, CaseIterable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical
}
