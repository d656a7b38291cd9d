import RequestLanes

/// The topics of the Kafka contract, with their settings at creation.
public struct TopicLayout: Equatable, Sendable {
    /// One topic.
    public struct Topic: Equatable, Sendable {
        public let name: String
        public let partitions: Int
        /// A topic that exists is right with any number.
        public var takesAnyPartitions = false
        /// The topic's settings at the broker, sorted by name.
        public let configuration: [Setting]
    }

    /// One setting of a topic.
    public struct Setting: Equatable, Sendable {
        public let name: String
        public let value: String
    }

    public let topics: [Topic]

    /// Makes the time of a record the broker's. The producer's may be wrong, or invented.
    package static let brokerTime = Setting(name: "message.timestamp.type", value: "LogAppendTime")

    /// Keeps the newest record of each key for good.
    package static let compaction = Setting(name: "cleanup.policy", value: "compact")

    /// - Parameters:
    ///   - partitions: partitions of every topic but push.controls, which has one; at least 1.
    ///   - names: the names of the contract.
    public init(partitions: Int, names: TopicNames = TopicNames()) {
        precondition(partitions >= 1, "a topic has at least one partition")
        let plain = [names.requests(.normal), names.feedback, names.outcomes, names.deadLetters].map {
            Topic(name: $0, partitions: partitions, configuration: [])
        }
        // An operator may have made one with another number: each lane has positions and keys of its own.
        let otherLanes = RequestLane.allCases.filter { $0 != .normal }.map {
            Topic(name: names.requests($0), partitions: partitions, takesAnyPartitions: true, configuration: [])
        }
        topics =
            plain + otherLanes + [
                Topic(
                    name: names.registrations,
                    partitions: partitions,
                    // The witness of when a token registered: see ``RecordTimeCheck``.
                    configuration: [Self.brokerTime]
                ),
                Topic(
                    name: names.tombstones,
                    partitions: partitions,
                    // The witness of when a token was forgotten.
                    configuration: [Self.compaction, Self.brokerTime]
                ),
                Topic(
                    name: names.controls,
                    // A few hundred records at most, and every worker reads all of them.
                    partitions: 1,
                    takesAnyPartitions: true,
                    // The time tells when an operator set a lever.
                    configuration: [Self.compaction, Self.brokerTime]
                ),
            ]
    }
}

extension TopicNames {
    /// The lanes that have a Kafka topic, in their order.
    ///
    /// - Parameter partitions: of every Kafka topic that is there.
    public func lanes(in partitions: [String: Int]) -> [RequestLane] {
        RequestLane.allCases.filter { partitions[requests($0)] != nil }
    }
}
