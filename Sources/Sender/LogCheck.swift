import BelfrySupport
import KafkaClient
import Logging
import PushTopics

/// Checks of the log that a worker makes before it starts.
///
/// A compacted push.requests would lose notifications.
struct LogCheck {
    private let configuration: BelfryConfiguration
    private let names: TopicNames
    private let logger: Logger

    private static let timeoutMilliseconds: Int32 = 5_000

    init(_ configuration: BelfryConfiguration, _ names: TopicNames, logger: Logger) {
        self.configuration = configuration
        self.names = names
        self.logger = logger
    }

    /// Checks the topics; blocks for up to some seconds.
    ///
    /// - Returns: the retention time of push.requests; nil: for ever, or the broker does not tell.
    /// - Throws: ``ConfigurationError`` (exit code 78) that names the remedy.
    func check() throws -> Duration? {
        let properties = configuration.kafka.adminProperties(clientID: "belfry-worker-check")
        let admin = try KafkaAdmin(properties: properties, named: "check at start", logger: logger)
        defer { admin.close() }
        let settings = topicSettings(admin)
        try Self.checkCleanup(settings, of: names.requests)
        return Self.retention(settings)
    }

    private func topicSettings(_ admin: KafkaAdmin) -> [String: String] {
        do throws(KafkaError) {
            return try admin.topicSettings(of: names.requests, timeoutMilliseconds: Self.timeoutMilliseconds)
        } catch {
            // The embedded broker does not support the request.
            logger.info("topic settings could not be read", metadata: ["error": "\(error)"])
            return [:]
        }
    }

    /// - Parameter settings: the settings of the Kafka topic; `retention.ms` −1 is for ever.
    static func retention(_ settings: [String: String]) -> Duration? {
        settings["retention.ms"].flatMap(Int64.init).flatMap { $0 >= 0 ? .milliseconds($0) : nil }
    }

    /// - Throws: ``ConfigurationError``: the Kafka topic is compacted.
    static func checkCleanup(_ settings: [String: String], of topic: String) throws {
        guard let policy = settings["cleanup.policy"], policy.contains("compact") else { return }
        throw refusal(
            "\(topic): cleanup.policy",
            found: policy,
            allowed: "delete: compaction deletes notifications that were not sent"
        )
    }

    private static func refusal(_ key: String, found: String, allowed: String) -> ConfigurationError {
        ConfigurationError([
            ConfigurationProblem(key: key, origin: .absent(file: "Kafka"), found: found, allowed: allowed)
        ])
    }
}
