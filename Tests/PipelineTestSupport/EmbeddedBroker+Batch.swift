import Testing

@testable import KafkaClient

extension EmbeddedBroker {
    /// Publishes records to partition 0 of a topic in one batch, of which it hands out one per fetch.
    func publishBatch(
        to topic: String,
        _ records: [(key: [UInt8], value: [UInt8]?)],
        headers: [(String, [UInt8])] = []
    ) throws {
        // None of them leaves before all are there, however busy the machine is: a flush ends the time.
        let producer = try KafkaProducer(properties: ["bootstrap.servers": bootstrapServers, "linger.ms": "5000"])
        defer { producer.close() }
        // Records produced before the topic is known come to it one by one, and the flush may find that half done.
        _ = try producer.topic(topic)
        let place = KafkaTopicPartition(topic: topic, partition: 0)
        let handle = try #require(producer.handle)
        _ = try KafkaWatermarks(querying: place, of: handle, timeoutMilliseconds: 30_000)
        for record in records {
            try producer.produce(topic: topic, key: record.key, value: record.value, headers: headers)
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }
}
