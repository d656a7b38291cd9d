import KafkaClient
import NIOCore
import PushTopics

/// Publishes what is due of each topic. Used by one thread.
final class Publisher {
    private struct Course {
        var demand = Load.Demand()
        /// Since when the rate is due, and what was offered then.
        var since: Int64 = 0
        var offeredBefore = 0
        var partition = 0
        /// Since when it is this partition's turn.
        var turnedAt: Int64 = 0
        /// By partition: the place of the next record's first device.
        var places: [Int]
    }

    private(set) var offered: [Int]
    private let producer: KafkaProducer
    private let requests: KafkaTopic
    private let topics: [Load.Topic]
    private var courses: [Course]
    private var records: [Int]
    private var unacknowledged = 0
    private var failure: KafkaError?
    private var value: [UInt8] = []

    /// Most records on their way to the broker.
    private static let unacknowledgedLimit = 20_000
    /// Most notifications of a topic at once, all of one partition: a part of the topic's queue there.
    private static let notificationsPerTurn = 1000
    /// Time for which one partition gets all of a topic's records. The embedded broker gives one batch of each
    /// partition per fetch, and looks for it along all that it has: many small ones would make a backlog slow.
    private static let turnMilliseconds = 5

    init(brokers: String, partitions: Int, topics: [Load.Topic]) throws {
        self.topics = topics
        offered = topics.map { _ in 0 }
        records = Array(repeating: 0, count: partitions)
        courses = topics.map { _ in Course(places: Array(repeating: 0, count: partitions)) }
        producer = try KafkaProducer(properties: [
            "bootstrap.servers": brokers, "acks": "all", "linger.ms": "\(Self.turnMilliseconds)",
            "compression.codec": "lz4",
            // One request at a time keeps the order whatever happens.
            "max.in.flight.requests.per.connection": "1",
        ])
        do {
            requests = try producer.topic(TopicNames().requests)
        } catch {
            producer.close()
            throw error
        }
        producer.onDelivery = { [unowned self] _, error, _, _ in
            unacknowledged -= 1
            if let error { failure = error }
        }
    }

    func close() {
        producer.close()
    }

    /// Publishes what is due, then rests for a moment.
    func turn(_ demands: [Load.Demand]) throws {
        for index in topics.indices { try publishDue(index, demands[index]) }
        producer.poll(timeoutMilliseconds: 1)
        if let failure { throw failure }
    }

    private func publishDue(_ index: Int, _ demand: Load.Demand) throws {
        let now = SharedLedger.now
        if courses[index].demand != demand {
            courses[index].demand = demand
            courses[index].since = now
            courses[index].offeredBefore = offered[index]
        }
        guard demand.rate > 0 else { return }
        let topic = topics[index]
        let size = topic.writer.tokensPerRecord
        let elapsed = Double(now - courses[index].since) / 1e9
        var due = (Int(elapsed * Double(demand.rate)) - (offered[index] - courses[index].offeredBefore)) / size
        if let limit = demand.limit { due = min(due, (limit - offered[index]) / size) }
        if let outstanding = demand.outstanding {
            due = min(due, (outstanding - topic.ledger.with { $0.outstanding }) / size)
        }
        due = min(due, max(1, Self.notificationsPerTurn / size), Self.unacknowledgedLimit - unacknowledged)
        guard due > 0 else { return }
        if now - courses[index].turnedAt >= Int64(Self.turnMilliseconds) * 1_000_000 {
            courses[index].turnedAt = now
            courses[index].partition = (courses[index].partition + 1) % records.count
        }
        for _ in 0..<due { try publish(index, topic) }
    }

    private func publish(_ index: Int, _ topic: Load.Topic) throws {
        let partition = courses[index].partition
        let place = courses[index].places[partition]
        let size = topic.writer.tokensPerRecord
        courses[index].places[partition] = place + size == topic.devicesPerPartition ? 0 : place + size
        records[partition] += 1
        guard records[partition] < Load.recordsPerPartition else {
            throw BenchmarkError("partition \(partition) is full: the embedded broker would forget its oldest records")
        }
        let device = UInt32(partition * topic.devicesPerPartition + place)
        let number = topic.ledger.with { $0.publish(firstDevice: device, now: SharedLedger.now) }
        topic.writer.write(number, partition: partition, place: place, into: &value)
        try topic.writer.keys[partition].withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                try producer.produce(to: requests, partition: Int32(partition), key: key, value: value)
            }
        }
        unacknowledged += 1
        offered[index] += size
    }
}
