extension KafkaProperties {
    /// Properties of a producer whose messages are acknowledged by all in-sync replicas, in order, once, and have the
    /// partition that Java's producer would give them.
    public static let reliableProducer: KafkaProperties = [
        "enable.idempotence": "true",
        "acks": "all",
        "message.max.bytes": "8388608",
        "linger.ms": "5",
        "partitioner": "murmur2_random",
    ]
}
