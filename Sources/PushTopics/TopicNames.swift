import BelfrySupport

/// The names of an installation's Kafka topics: those of the Kafka contract behind `kafka.prefix`.
public struct TopicNames: Sendable, Equatable {
    public var requests: String
    public var registrations: String
    public var feedback: String
    public var tombstones: String
    public var outcomes: String
    public var deadLetters: String
    /// Levers of single topics: see ``ControlRecord``.
    public var controls: String

    /// - Parameter prefix: empty: the names of the contract.
    public init(prefix: String = "") {
        requests = prefix + "push.requests"
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
}
