import BelfrySupport
import PushTopics
import RequestLanes

/// The findings of `belfry config check --connect` about the lanes that workers are to serve. Pure.
struct LaneFindings {
    private let names: TopicNames
    private let worker: WorkerSettings
    private let brokers: String
    /// Of every Kafka topic that is there.
    private let partitions: [String: Int]

    private static let key = "worker.lanes"

    init(_ kafka: KafkaSettings, _ worker: WorkerSettings, partitions: [String: Int]) {
        names = TopicNames(kafka)
        brokers = kafka.brokers
        self.worker = worker
        self.partitions = partitions
    }

    /// The lanes that a worker serves: their Kafka topics are there.
    var served: [RequestLane] { names.lanes(in: partitions).filter { worker.lanes.contains($0) } }

    func topic(_ lane: RequestLane) -> String { names.requests(lane) }

    /// - Parameter settings: the settings of the lanes' Kafka topics, as far as the brokers tell.
    func findings(_ settings: [RequestLane: [String: String]]) -> [ConfigurationFinding] {
        guard !served.isEmpty else { return [] }
        let told = served.map { "\($0) (\(topic($0)), \(counted(partitions[topic($0), default: 0], "partition")))" }
        let found = "workers serve \(told.joined(separator: ", "))"
        return [ConfigurationFinding(good: found, of: Self.key)] + missing + idle
            + served.compactMap { compaction(of: $0, settings[$0] ?? [:]) }
    }

    /// Lanes that no worker serves until their Kafka topics are made. One that workers wait for is a fault, told
    /// elsewhere.
    private var missing: [ConfigurationFinding] {
        worker.lanes.filter { !worker.neededLanes.contains($0) && !served.contains($0) }.map { lane in
            ConfigurationFinding(
                note: "\(lane) is not served: \(topic(lane)) is missing; belfry topics create makes it, and workers "
                    + "serve it from their next start on",
                of: Self.key
            )
        }
    }

    /// Lanes whose Kafka topics do not occupy one worker.
    private var idle: [ConfigurationFinding] {
        served.compactMap { lane in
            let count = partitions[topic(lane), default: 0]
            guard count < worker.shards else { return nil }
            return ConfigurationFinding(
                note: "\(topic(lane)) has \(counted(count, "partition")), and each worker \(worker.shards) shards for "
                    + "it: the rest have no work",
                of: "worker.shards"
            )
        }
    }

    /// A worker refuses to begin with such a Kafka topic.
    private func compaction(of lane: RequestLane, _ settings: [String: String]) -> ConfigurationFinding? {
        let name = TopicLayout.compaction.name
        guard let policy = settings[name], policy.contains(TopicLayout.compaction.value) else { return nil }
        return ConfigurationFinding(
            fault: "\(topic(lane)) is compacted (\(name)=\(policy)): notifications that were not sent are deleted",
            of: Self.key,
            cure: "kafka-configs.sh --bootstrap-server \(brokers) --alter --entity-type topics "
                + "--entity-name \(topic(lane)) --add-config \(name)=delete"
        )
    }
}
