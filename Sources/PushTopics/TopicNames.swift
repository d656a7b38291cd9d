/// The names of the Kafka contract.
public struct TopicNames: Sendable, Equatable {
    public var requests = "push.requests"
    public var registrations = "push.registrations"
    public var feedback = "push.feedback"
    public var tombstones = "push.tombstones"
    public var outcomes = "push.outcomes"
    public var deadLetters = "push.dead-letters"
    /// Written by earlier versions; a worker checks it for leftovers.
    package static let formerlyParked = "push.parked"

    public init() {}
}
