import BelfrySupport
import KafkaClient
import PushTopics

/// The findings and changes of `belfry topics create`.
public struct AppReport: Equatable, Sendable {
    /// One topic.
    public struct Topic: Equatable, Sendable {
        public let name: String
        public let partitions: Int
        public let isNew: Bool
        /// Replicas of each partition, where no number was named and the brokers know no default; else nil.
        public var chosenReplicas: Int?
    }

    public let topics: [Topic]

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append(
            "topics",
            topics.map { topic in
                var line = JSONLine()
                line.append("name", topic.name)
                line.append("partitions", topic.partitions)
                line.append("created", topic.isNew)
                if let replicas = topic.chosenReplicas { line.append("replicas", replicas) }
                return line
            }
        )
        return line.text
    }

    /// One line per topic.
    public var text: String {
        topics.map { topic in
            let replicas = topic.chosenReplicas.map { " with \(counted($0, "replica")): the brokers know no default" }
            let state = topic.isNew ? "created\(replicas ?? "")" : "exists"
            return "\(topic.name): \(counted(topic.partitions, "partition")), \(state)"
        }
        .joined(separator: "\n")
    }
}

/// Carries out `belfry topics create`. Blocks the calling thread.
public enum TopicSetup {
    private static let timeoutMilliseconds: Int32 = 30_000
    /// The broker's own number of replicas.
    private static let brokersDefault = -1

    /// Creates the topics of `layout` that do not exist.
    ///
    /// - Parameter replication: replicas of each partition; -1: the broker's default, or ``replicas(brokers:)`` where
    ///   brokers know none.
    /// - Throws: `ToolError.kafka`: the brokers cannot be reached or refuse, or a topic exists with another number of
    ///   partitions and does not take any. That number must never change in place: the key decides the partition, and
    ///   it would change.
    public static func create(
        _ layout: TopicLayout,
        replication: Int,
        through settings: KafkaSettings
    ) throws(ToolError) -> AppReport {
        let topics: [AppReport.Topic]
        do throws(KafkaError) {
            topics = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                let admin = try KafkaAdmin(forCommand: settings, clientID: "belfry-topics")
                defer { admin.close() }
                return try createMissing(layout, replication: replication, in: admin)
            }
        } catch {
            guard error.isInvalidReplication else { throw ToolError(error) }
            throw .kafka("\(error)\nname a number of replicas that the brokers can keep: --replication")
        }
        return try checked(AppReport(topics: topics), against: layout)
    }

    /// Replicas of a partition where brokers know no default: three, or as many as there are brokers.
    static func replicas(brokers: Int) -> Int { min(3, max(1, brokers)) }

    static func createMissing(
        _ layout: TopicLayout,
        replication: Int,
        in cluster: some TopicCluster
    ) throws(KafkaError) -> [AppReport.Topic] {
        // Asked first: what is there needs no right to create, and the embedded broker cannot create at all.
        var existing = try cluster.partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
        var chosen: Int?
        var report: [AppReport.Topic] = []
        // Nothing is made beside topics that differ: a count that was forgotten would hold for good.
        guard differences(existing, from: layout).isEmpty else {
            return layout.topics.compactMap { topic in
                existing[topic.name].map { .init(name: topic.name, partitions: $0, isNew: false) }
            }
        }
        for topic in layout.topics {
            var isNew = false
            if existing[topic.name] == nil {
                do throws(KafkaError) {
                    isNew = try create(topic, replication: chosen ?? replication, in: cluster)
                } catch {
                    // Brokers older than 2.4 know no default.
                    guard error.isUnsupported, replication == brokersDefault, chosen == nil else { throw error }
                    let replicas = replicas(brokers: try cluster.brokerCount(timeoutMilliseconds: timeoutMilliseconds))
                    chosen = replicas
                    isNew = try create(topic, replication: replicas, in: cluster)
                }
                // Another process was faster: what it made counts.
                if !isNew { existing = try cluster.partitionCounts(timeoutMilliseconds: timeoutMilliseconds) }
            }
            let partitions = isNew ? topic.partitions : existing[topic.name] ?? topic.partitions
            report.append(
                .init(
                    name: topic.name,
                    partitions: partitions,
                    isNew: isNew,
                    chosenReplicas: isNew ? chosen : nil
                )
            )
        }
        return report
    }

    private static func create(
        _ topic: TopicLayout.Topic,
        replication: Int,
        in cluster: some TopicCluster
    ) throws(KafkaError) -> Bool {
        try cluster.createTopic(
            topic.name,
            partitions: topic.partitions,
            replication: replication,
            configuration: topic.configuration.map { ($0.name, $0.value) },
            timeoutMilliseconds: timeoutMilliseconds
        )
    }

    /// The topics that exist with another number of partitions, in words.
    private static func differences(_ counts: [String: Int], from layout: TopicLayout) -> [String] {
        layout.topics.compactMap { topic in
            guard let count = counts[topic.name], count != topic.partitions, !topic.takesAnyPartitions else {
                return nil
            }
            return "\(topic.name) exists with \(counted(count, "partition")), not \(topic.partitions)"
        }
    }

    static func checked(_ report: AppReport, against layout: TopicLayout) throws(ToolError) -> AppReport {
        let counts = Dictionary(report.topics.map { ($0.name, $0.partitions) }) { first, _ in first }
        let differing = differences(counts, from: layout)
        guard differing.isEmpty else {
            throw .kafka(
                differing.joined(separator: "\n")
                    + "\npartition counts never change in place: name the count that exists"
            )
        }
        return report
    }
}
