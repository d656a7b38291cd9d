import BelfrySupport
import KafkaClient
import Logging
import PushTopics

/// Checks of the logs of its lanes that a worker makes before it starts.
///
/// A compacted one would lose notifications.
struct LogCheck {
    private let configuration: BelfryConfiguration
    private let topics: [String]
    private let logger: Logger

    private static let timeoutMilliseconds: Int32 = 5_000

    /// - Parameter topics: the Kafka topics of the lanes that are served.
    init(_ configuration: BelfryConfiguration, _ topics: [String], logger: Logger) {
        self.configuration = configuration
        self.topics = topics
        self.logger = logger
    }

    /// Checks the topics; blocks for up to some seconds for each.
    ///
    /// - Returns: their shortest retention time; nil: for ever, or the broker does not tell.
    /// - Throws: ``ConfigurationError`` (exit code 78) that names the remedy.
    func check() throws -> Duration? {
        let properties = configuration.kafka.adminProperties(clientID: "belfry-worker-check")
        let admin = try KafkaAdmin(properties: properties, named: "check at start", logger: logger)
        defer { admin.close() }
        var shortest: Duration?
        for topic in topics {
            let settings = topicSettings(of: topic, admin)
            try Self.checkCleanup(settings, of: topic)
            shortest = [shortest, Self.retention(settings)].compactMap(\.self).min()
        }
        return shortest
    }

    private func topicSettings(of topic: String, _ admin: KafkaAdmin) -> [String: String] {
        do throws(KafkaError) {
            return try admin.topicSettings(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
        } catch {
            // The embedded broker does not support the request.
            logger.info("topic settings could not be read", metadata: ["topic": "\(topic)", "error": "\(error)"])
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
