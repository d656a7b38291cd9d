import KafkaClient
import RequestLanes
import RequestRules

/// Settings of a ``PushProducer``.
public struct ProducerConfiguration: Sendable {
    /// The brokers to ask first: `host:port`, several with commas between.
    public var brokers: String
    /// The Kafka topic of requests: that of a lane.
    public var topic: String
    /// The name of this client in the brokers' logs and quotas.
    public var clientID = "belfry-producer"
    /// Further properties of librdkafka, such as those for TLS. Refused, by all their names, are:
    /// - those that the other settings decide: `bootstrap.servers`, `client.id`, `message.timeout.ms`,
    ///   `queue.buffering.max.messages`, `queue.buffering.max.kbytes`;
    /// - those on which promises rest: `enable.idempotence`, `acks`, `partitioner`, `message.send.max.retries`,
    ///   `max.in.flight`, `queuing.strategy`, `transactional.id`, `delivery.report.only.error`, `enabled_events`,
    ///   `test.mock.num.brokers`.
    public var properties: [String: String] = [:]
    /// The longest time from the hand-over of a record to its acknowledgement, 1 s ... 1 h. Later it has failed, and
    /// may or may not be stored. For a Kafka topic that is missing it fails after half of this, at most 10 s.
    public var deliveryTimeout = Duration.seconds(30)
    /// Most records that wait for their acknowledgement, 1 ... 10,000,000. Further ones suspend their publishers.
    public var queueRecords = 100_000
    /// Most KiB of records that wait for their acknowledgement, 2,048 ... 2,097,151, so that the largest record has
    /// room; the same.
    public var queueKibibytes = 32 * 1024
    /// Called for what the client has to tell: lost brokers, refused logins. From the producer's own thread; it must
    /// not block.
    public var onNotice: @Sendable (_ text: String) -> Void = { _ in }

    /// - Parameters:
    ///   - prefix: the installation's `kafka.prefix`, which stands before the names of its Kafka topics.
    ///   - lane: the urgency of all requests that the producer publishes. `belfry topics create` makes its Kafka topic.
    public init(brokers: String, prefix: String = "", lane: RequestLane = .normal) {
        self.brokers = brokers
        topic = lane.kafkaTopic(prefix: prefix)
    }

    /// Properties that belong to the producer, under all their names. Others that break idempotence librdkafka refuses.
    static let promised: Set = [
        // The other settings decide.
        "bootstrap.servers", "metadata.broker.list", "client.id", "message.timeout.ms", "delivery.timeout.ms",
        "queue.buffering.max.messages", "queue.buffering.max.kbytes",
        // Acknowledged by all replicas, once, in order, in Java's partitions.
        "enable.idempotence", "acks", "request.required.acks", "partitioner", "message.send.max.retries", "retries",
        "max.in.flight.requests.per.connection", "max.in.flight", "queuing.strategy",
        // Nothing can be published outside a transaction, of which there is none.
        "transactional.id",
        // Acknowledgements would never come.
        "delivery.report.only.error", "enabled_events",
        // Brokers that forget everything.
        "test.mock.num.brokers",
    ]

    /// Longest wait for a Kafka topic that the brokers do not know. With librdkafka's own, 30 s, records would time out
    /// at that moment, and nothing would tell that the Kafka topic is missing. [ours]
    private static let longestUnknownTopic = Duration.seconds(10)

    /// librdkafka takes every property of a topic with this before it, too.
    private static let topicPrefix = "topic."

    private static func isPromised(_ name: String) -> Bool {
        promised.contains(name.hasPrefix(topicPrefix) ? String(name.dropFirst(topicPrefix.count)) : name)
    }

    /// More than the largest record with its key and headers: librdkafka has no room for one that is larger than the
    /// whole queue, ever.
    private static let queueKibibytesAllowed = 2 * RequestValue.limitBytes / 1024...2_097_151

    /// - Throws: ``ProducerError/misconfigured(_:)``
    func kafkaProperties() throws(ProducerError) -> KafkaProperties {
        let refused = properties.keys.filter(Self.isPromised).sorted()
        guard refused.isEmpty else {
            throw .misconfigured("properties: \(refused.joined(separator: ", ")) cannot be set: the producer decides")
        }
        try ProducerError.checkSetting("deliveryTimeout", deliveryTimeout, .seconds(1) ... .seconds(3600))
        try ProducerError.checkSetting("queueRecords", queueRecords, 1...10_000_000)
        try ProducerError.checkSetting("queueKibibytes", queueKibibytes, Self.queueKibibytesAllowed)
        var all = KafkaProperties.reliableProducer
        all["bootstrap.servers"] = brokers
        all["client.id"] = clientID
        all["message.timeout.ms"] = Self.milliseconds(deliveryTimeout)
        all["topic.metadata.propagation.max.ms"] = Self.milliseconds(min(deliveryTimeout / 2, Self.longestUnknownTopic))
        all["queue.buffering.max.messages"] = "\(queueRecords)"
        all["queue.buffering.max.kbytes"] = "\(queueKibibytes)"
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) { all[name] = value }
        return all
    }

    private static func milliseconds(_ duration: Duration) -> String { "\(Int(duration / .milliseconds(1)))" }
}
