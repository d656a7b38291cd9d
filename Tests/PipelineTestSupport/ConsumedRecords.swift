import KafkaClient
import Testing

/// Records that went through a broker, for what reads consumed messages.
struct TestRecord {
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [(String, [UInt8])] = []
}

/// Sends records through an embedded broker and hands them over as consumed, in batches of at most `max`.
///
/// The batches stay valid as long as they are kept.
func consume(_ records: [TestRecord], max: Int = 1000) throws -> [KafkaBatch] {
    let topic = "records"
    let broker = try EmbeddedBroker(topics: [(name: topic, partitions: 1)])
    defer { broker.close() }
    let producer = try KafkaProducer(properties: ["bootstrap.servers": broker.bootstrapServers])
    defer { producer.close() }
    for record in records {
        try producer.produce(topic: topic, key: record.key, value: record.value, headers: record.headers)
    }
    try producer.flush(timeoutMilliseconds: 30_000)
    return try contents(of: topic, brokers: broker.bootstrapServers, max: max)
}

/// Everything that stands in a topic now, one partition after the other, in batches of at most `max` records.
///
/// No consumer group: the embedded broker lets the first member of one wait for 3 s. The batches stay valid as long as
/// they are kept.
func contents(of topic: String, brokers: String, max: Int = 1000) throws -> [KafkaBatch] {
    let admin = try KafkaAdmin(properties: ["bootstrap.servers": brokers])
    defer { admin.close() }
    let partitions = try admin.partitionCount(of: topic, timeoutMilliseconds: 30_000)
    // Without ends of partitions among the records.
    let reader = try KafkaReader(properties: ["bootstrap.servers": brokers, "enable.partition.eof": "false"])
    defer { reader.close() }
    let places = (0..<Int32(partitions)).map { KafkaTopicPartition(topic: topic, partition: $0) }
    let extents = try reader.watermarks(of: places, timeoutMilliseconds: 30_000)
    let deadline = ContinuousClock.now + .seconds(60)
    var batches: [KafkaBatch] = []
    for (place, extent) in zip(places, extents) where extent.low < extent.high {
        try reader.begin(place, at: extent.low)
        var next = extent.low
        while next < extent.high {
            try #require(ContinuousClock.now < deadline, "the records of \(place) do not come")
            guard let batch = reader.read(place, max: max) else { continue }
            for index in 0..<batch.count {
                if let error = batch[index].error { throw error }
                next = batch[index].offset + 1
            }
            batches.append(batch)
        }
        reader.stop(place)
    }
    return batches
}

/// The same, flat; the views are valid during the call.
func withConsumed(_ records: [TestRecord], _ body: ([KafkaMessageView]) throws -> Void) throws {
    let batches = try consume(records)
    try body(batches.flatMap { batch in (0..<batch.count).map { batch[$0] } })
    withExtendedLifetime(batches) {}
}
