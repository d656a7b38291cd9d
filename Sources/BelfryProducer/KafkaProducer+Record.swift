import KafkaClient

extension KafkaProducer {
    /// Hands a record over; see ``KafkaProducer/produce(topic:key:value:headers:opaque:)``.
    package func produce(_ record: OutgoingRecord, to topic: String, opaque: UInt64) throws(KafkaError) {
        try produce(
            topic: topic,
            key: Array(record.key.utf8),
            value: record.value,
            headers: record.headers.map { ($0.name, $0.value) },
            opaque: opaque
        )
    }
}
