import BelfrySupport
import RequestLanes

/// The names of an installation's Kafka topics: those of the Kafka contract behind `kafka.prefix`.
public struct TopicNames: Sendable, Equatable {
    /// Of the normal lane; for a shard of a worker, of its own lane.
    public var requests: String
    public var registrations: String
    public var feedback: String
    public var tombstones: String
    public var outcomes: String
    public var deadLetters: String
    /// Levers of single topics: see ``ControlRecord``.
    public var controls: String

    private let prefix: String

    /// - Parameter prefix: empty: the names of the contract.
    public init(prefix: String = "") {
        self.prefix = prefix
        requests = RequestLane.normal.kafkaTopic(prefix: prefix)
        registrations = prefix + "push.registrations"
        feedback = prefix + "push.feedback"
        tombstones = prefix + "push.tombstones"
        outcomes = prefix + "push.outcomes"
        deadLetters = prefix + "push.dead-letters"
        controls = prefix + "push.controls"
    }

    public init(_ settings: KafkaSettings) {
        self.init(prefix: settings.prefix)
    }

    /// The Kafka topic of a lane's requests.
    public func requests(_ lane: RequestLane) -> String { lane.kafkaTopic(prefix: prefix) }

    /// The Kafka topics of all lanes, in the order of these.
    public var allRequests: [String] { RequestLane.allCases.map(requests) }

    /// The lane whose requests a Kafka topic has; nil: it has none.
    public func lane(of topic: String) -> RequestLane? { RequestLane.allCases.first { requests($0) == topic } }
}
