import KafkaClient
import Logging

/// Checks of the log that a worker makes before it starts.
///
/// A compacted push.requests would lose notifications, and so would what an earlier version left in push.parked.
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

    /// Blocks for up to some seconds.
    ///
    /// - Throws: ``ConfigurationError`` (exit code 78) that says what to do.
    func check() throws {
        let admin = try KafkaAdmin(properties: configuration.kafka.adminProperties(clientID: "belfry-worker-check"))
        defer { admin.close() }
        try checkCleanup(admin)
        try checkFormerlyParked(admin)
    }

    private func checkCleanup(_ admin: KafkaAdmin) throws {
        let settings: [String: String]
        do throws(KafkaError) {
            settings = try admin.topicSettings(of: names.requests, timeoutMilliseconds: Self.timeoutMilliseconds)
        } catch {
            // A broker for trying out does not know the question.
            return logger.info("topic settings could not be read", metadata: ["error": "\(error)"])
        }
        guard let policy = settings["cleanup.policy"], policy.contains("compact") else { return }
        throw Self.refusal(
            "\(names.requests): cleanup.policy",
            found: policy,
            allowed: "delete: compaction deletes notifications that were not sent"
        )
    }

    /// Notifications that an earlier version parked are behind its cursor there, and nobody would send them.
    private func checkFormerlyParked(_ admin: KafkaAdmin) throws {
        let committed: [KafkaPartitionOffset]
        do throws(KafkaError) {
            guard
                let count = try admin.partitionCounts(timeoutMilliseconds: Self.timeoutMilliseconds)[
                    TopicNames.formerlyParked
                ]
            else { return }
            committed = try admin.committed(
                group: configuration.worker.groupID,
                (0..<Int32(count)).map { KafkaTopicPartition(topic: TopicNames.formerlyParked, partition: $0) },
                timeoutMilliseconds: Self.timeoutMilliseconds
            )
        } catch {
            return logger.warning(
                "former parked notifications could not be looked for",
                metadata: ["error": "\(error)"]
            )
        }
        // An earlier version left metadata there for as long as something was parked.
        guard let left = committed.first(where: { $0.offset >= 0 && !$0.metadata.isEmpty }) else { return }
        throw Self.refusal(
            TopicNames.formerlyParked,
            found: "notifications that an earlier version parked, in partition \(left.partition) from offset "
                + "\(left.offset)",
            allowed: "none: run the earlier version until they have returned, then start this one"
        )
    }

    private static func refusal(_ key: String, found: String, allowed: String) -> ConfigurationError {
        ConfigurationError([
            ConfigurationProblem(key: key, origin: .absent(file: "Kafka"), found: found, allowed: allowed)
        ])
    }
}
