import LocalPipeline
import PushTopics

/// A role of which the run has several processes.
enum ChaosRole: String, CaseIterable, CustomStringConvertible, Sendable {
    case worker
    case registrar
    case harvester

    var description: String { rawValue }

    /// The consumer groups whose members its processes are.
    var groups: [String] {
        switch self {
        case .worker: RequestLane.allCases.map(Self.workers)
        case .registrar: ["belfry-registrar", "belfry-registrar-tombstones"]
        case .harvester: ["belfry-harvester"]
        }
    }

    /// The group of the workers in a lane.
    static func workers(_ lane: RequestLane) -> String { "belfry-worker\(lane.suffix)" }

    /// The group that applies records to the token state, and their Kafka topic, which has fewer partitions than the
    /// group has members; nil: the role applies none.
    var applies: (group: String, topic: String)? {
        switch self {
        case .worker: nil
        case .registrar: (groups[0], TopicNames().registrations)
        case .harvester: (groups[0], TopicNames().feedback)
        }
    }
}
