import KafkaClient

/// Settings of a ``PushProducer``.
public struct ProducerConfiguration: Sendable {
    /// The brokers to ask first: `host:port`, several with commas between.
    public var brokers: String
    /// The Kafka topic of requests.
    public var topic = "push.requests"
    /// The name of this client in the brokers' logs and quotas.
    public var clientID = "belfry-producer"
    /// Further properties of librdkafka, such as those for TLS. Those on which promises rest are refused:
    /// `bootstrap.servers`, `enable.idempotence`, `acks`, `partitioner`, and the times after which a record fails.
    public var properties: [String: String] = [:]
    /// The longest time from the hand-over of a record to its acknowledgement, 1 s ... 1 h. Later it has failed, and
    /// may or may not be stored.
    public var deliveryTimeout = Duration.seconds(30)
    /// Most records that wait for their acknowledgement, 1 ... 10,000,000. Further ones suspend their publishers.
    public var queueRecords = 100_000
    /// Most KiB of records that wait for their acknowledgement, 1 ... 2,097,151; the same.
    public var queueKibibytes = 32 * 1024
    /// Called for what the client has to tell: lost brokers, refused logins. From the producer's own thread; it must
    /// not block.
    public var onNotice: @Sendable (_ text: String) -> Void = { _ in }

    public init(brokers: String) {
        self.brokers = brokers
    }

    /// Properties that the settings decide, under all their names.
    private static let promised = [
        "bootstrap.servers", "metadata.broker.list", "client.id", "enable.idempotence", "acks",
        "request.required.acks", "partitioner", "message.timeout.ms", "delivery.timeout.ms",
        "queue.buffering.max.messages", "queue.buffering.max.kbytes",
    ]

    /// - Throws: ``ProducerError/misconfigured(_:)``
    func kafkaProperties() throws(ProducerError) -> KafkaProperties {
        let refused = properties.keys.filter(Self.promised.contains).sorted()
        guard refused.isEmpty else {
            throw .misconfigured("properties: \(refused.joined(separator: ", ")) cannot be set: the producer decides")
        }
        try Self.check("deliveryTimeout", deliveryTimeout, .seconds(1) ... .seconds(3600))
        try Self.check("queueRecords", queueRecords, 1...10_000_000)
        try Self.check("queueKibibytes", queueKibibytes, 1...2_097_151)
        var all = KafkaProperties.reliableProducer
        all["bootstrap.servers"] = brokers
        all["client.id"] = clientID
        all["message.timeout.ms"] = "\(deliveryTimeout / .milliseconds(1))".split(separator: ".").first.map(String.init)
        all["queue.buffering.max.messages"] = "\(queueRecords)"
        all["queue.buffering.max.kbytes"] = "\(queueKibibytes)"
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) { all[name] = value }
        return all
    }

    private static func check<V: Comparable>(
        _ name: String,
        _ value: V,
        _ allowed: ClosedRange<V>
    ) throws(ProducerError) {
        guard !allowed.contains(value) else { return }
        throw .misconfigured("\(name): found \(value); allowed: \(allowed.lowerBound)...\(allowed.upperBound)")
    }
}
