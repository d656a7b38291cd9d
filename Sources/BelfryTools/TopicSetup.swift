import BelfrySupport
import KafkaClient
import PushTopics

/// The findings and changes of `belfry topics create`.
public struct TopicReport: Equatable, Sendable {
    /// One topic.
    public struct Topic: Equatable, Sendable {
        public let name: String
        public let partitions: Int
        public let isNew: Bool
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
                return line
            }
        )
        return line.text
    }

    /// One line per topic.
    public var text: String {
        topics.map { "\($0.name): \(counted($0.partitions, "partition")), \($0.isNew ? "created" : "exists")" }
            .joined(separator: "\n")
    }
}

/// Carries out `belfry topics create`. Blocks the calling thread.
public enum TopicSetup {
    private static let timeoutMilliseconds: Int32 = 30_000

    /// Creates the topics of `layout` that do not exist.
    ///
    /// - Parameter replication: replicas of each partition; -1: the broker's default.
    /// - Throws: `ToolError.kafka`: the brokers cannot be reached or refuse, or a topic exists with another number of
    ///   partitions. That number must never change in place: the key decides the partition, and it would change.
    public static func create(
        _ layout: TopicLayout,
        replication: Int,
        through settings: KafkaSettings
    ) throws(ToolError) -> TopicReport {
        let topics: [TopicReport.Topic]
        do throws(KafkaError) {
            topics = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try createMissing(layout, replication: replication, through: settings)
            }
        } catch {
            throw ToolError(error)
        }
        return try checked(TopicReport(topics: topics), against: layout)
    }

    private static func createMissing(
        _ layout: TopicLayout,
        replication: Int,
        through settings: KafkaSettings
    ) throws(KafkaError) -> [TopicReport.Topic] {
        let admin = try KafkaAdmin(properties: settings.adminProperties(clientID: "belfry-topics"))
        defer { admin.close() }
        // Asked first: what is there needs no right to create, and the embedded broker cannot create at all.
        var existing = try admin.partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
        var report: [TopicReport.Topic] = []
        for topic in layout.topics {
            var isNew = false
            if existing[topic.name] == nil {
                isNew = try admin.createTopic(
                    topic.name,
                    partitions: topic.partitions,
                    replication: replication,
                    configuration: topic.configuration.map { ($0.name, $0.value) },
                    timeoutMilliseconds: timeoutMilliseconds
                )
                // Somebody else was faster: what they made counts.
                if !isNew { existing = try admin.partitionCounts(timeoutMilliseconds: timeoutMilliseconds) }
            }
            let partitions = isNew ? topic.partitions : existing[topic.name] ?? topic.partitions
            report.append(.init(name: topic.name, partitions: partitions, isNew: isNew))
        }
        return report
    }

    static func checked(_ report: TopicReport, against layout: TopicLayout) throws(ToolError) -> TopicReport {
        let differing = zip(report.topics, layout.topics).filter { $0.partitions != $1.partitions }.map {
            found,
            wanted in
            "\(found.name) exists with \(counted(found.partitions, "partition")), not \(wanted.partitions)"
        }
        guard differing.isEmpty else {
            throw .kafka(
                differing.joined(separator: "\n")
                    + "\npartition counts never change in place: name the count that exists"
            )
        }
        return report
    }
}
