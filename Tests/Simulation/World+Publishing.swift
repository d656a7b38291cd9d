import PushTopics

@testable import KafkaClient
@testable import SimulatedServers

/// The brokers' refusals of what workers publish.
extension World {
    /// A refusal of a publication.
    struct PublishingRefusal {
        var error: KafkaError
        /// The client knows it before it sends.
        var isKnownToClients: Bool
    }

    /// Kafka topics that workers publish to, by the number in a fault.
    private static let published = [names.outcomes, names.deadLetters, names.tombstones]
    /// The number of the one that they move records to, in worlds with quotas.
    static let movesNumber = published.count

    /// The brokers refuse a Kafka topic for a time.
    func refuse(topic: Int, isUnknown: Bool, for time: VirtualTime) {
        let error: KafkaError = isUnknown ? .unknownTopic : .topicNotAuthorized
        let refusal = PublishingRefusal(error: error, isKnownToClients: isUnknown)
        let published = Self.published + (plan.options.quotas.isEmpty ? [] : [Self.requests])
        refusedTopics[published[topic % published.count]] = (clock.now + time, refusal)
    }

    /// Nil: the brokers take it.
    func refusal(of record: Published) -> PublishingRefusal? {
        if let (until, refusal) = refusedTopics[record.topic], clock.now < until { return refusal }
        let most = plan.options.largestPublication
        guard most > 0, record.topic != Self.names.tombstones, record.bytes > most else { return nil }
        return PublishingRefusal(error: .messageTooLarge, isKnownToClients: plan.seed.isMultiple(of: 2))
    }
}

extension Published {
    /// Bytes that count towards the brokers' limit.
    var bytes: Int { key.count + value.count + headers.reduce(0) { $0 + $1.0.utf8.count + $1.1.count } }
}

extension KafkaError {
    fileprivate static let unknownTopic = simulated("UNKNOWN_TOPIC_OR_PART", 3)
    fileprivate static let topicNotAuthorized = simulated("TOPIC_AUTHORIZATION_FAILED", 29)
    fileprivate static let messageTooLarge = simulated("MSG_SIZE_TOO_LARGE", 10)
}
