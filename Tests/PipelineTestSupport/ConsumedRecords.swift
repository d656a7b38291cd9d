import KafkaClient

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
    let consumer = try KafkaConsumer(
        properties: ["bootstrap.servers": broker.bootstrapServers, "auto.offset.reset": "earliest"],
        group: "test",
        topics: [topic]
    )
    defer { consumer.close() }
    var batches: [KafkaBatch] = []
    var count = 0
    var emptyReads = 0
    while count < records.count, emptyReads < 600 {
        guard let batch = consumer.consumeBatch(max: max, timeoutMilliseconds: 100) else {
            emptyReads += 1
            continue
        }
        for index in 0..<batch.count {
            if let error = batch[index].error { throw error }
        }
        batches.append(batch)
        count += batch.count
    }
    return batches
}

/// The same, flat; the views are valid during the call.
func withConsumed(_ records: [TestRecord], _ body: ([KafkaMessageView]) throws -> Void) throws {
    let batches = try consume(records)
    try body(batches.flatMap { batch in (0..<batch.count).map { batch[$0] } })
    withExtendedLifetime(batches) {}
}
