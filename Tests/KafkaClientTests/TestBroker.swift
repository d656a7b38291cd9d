import Foundation
import KafkaClient
import KafkaTestSupport
import Synchronization
import Testing

/// The kind of a broker that a rule must hold against.
enum BrokerKind: String, CaseIterable, CustomTestStringConvertible {
    case embedded
    case foreign

    var testDescription: String { rawValue }
}

/// A broker with one topic made for one test.
final class TestBroker {
    let bootstrapServers: String
    /// Unlike any other test's, since the foreign broker is shared.
    let topic: String
    let partitions: Int
    private let embedded: EmbeddedBroker?
    private let foreign: ForeignBroker?

    /// - Parameter isOwn: a foreign broker of the test's own, to be stopped by it.
    init(_ kind: BrokerKind, partitions: Int = 1, isOwn: Bool = false) throws {
        topic = "t-\(UUID().uuidString)"
        self.partitions = partitions
        switch kind {
        case .embedded:
            let broker = try EmbeddedBroker(topics: [(topic, partitions)])
            embedded = broker
            foreign = nil
            bootstrapServers = broker.bootstrapServers
        case .foreign:
            let broker = isOwn ? try ForeignBroker() : nil
            bootstrapServers = try broker?.bootstrapServers ?? SharedBroker.bootstrapServers()
            embedded = nil
            foreign = broker
            let admin = try KafkaAdmin(properties: ["bootstrap.servers": bootstrapServers])
            defer { admin.close() }
            try admin.createTopic(topic, partitions: partitions, replication: 1, timeoutMilliseconds: 10_000)
        }
    }

    var places: [KafkaTopicPartition] {
        (0..<Int32(partitions)).map { KafkaTopicPartition(topic: topic, partition: $0) }
    }

    func goDown() {
        embedded?.setDown(true)
        foreign?.stop()
    }

    func comeBack() throws {
        embedded?.setDown(false)
        try foreign?.start()
    }

    func close() {
        embedded?.close()
        foreign?.remove()
    }

    func producer(_ properties: KafkaProperties = [:]) throws -> KafkaProducer {
        let common: KafkaProperties = ["bootstrap.servers": bootstrapServers, "linger.ms": "1"]
        return try KafkaProducer(properties: common.merging(properties))
    }

    func consumer(group: String? = nil, _ properties: KafkaProperties = [:]) throws -> KafkaConsumer {
        // A server refuses less than 6 s; the embedded one does not.
        let session = embedded == nil ? "6000" : "4000"
        let common: KafkaProperties = [
            "bootstrap.servers": bootstrapServers, "auto.offset.reset": "earliest", "session.timeout.ms": session,
            "heartbeat.interval.ms": "200", "fetch.wait.max.ms": "20",
        ]
        let group = group ?? "g-\(UUID().uuidString)"
        return try KafkaConsumer(properties: common.merging(properties), group: group, topics: [topic])
    }

    /// Produces `count` messages, their number as value and key, and waits for all acknowledgements.
    func fill(_ numbers: Range<Int>, partition: Int32? = nil) throws {
        let producer = try producer()
        defer { producer.close() }
        for number in numbers {
            let bytes = Array("\(number)".utf8)
            try producer.produce(topic: topic, partition: partition, key: bytes, value: bytes)
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }
}

/// One foreign broker for all tests that leave it alone; it ends with the process.
enum SharedBroker {
    private struct Running: @unchecked Sendable {
        // Only kept, and its immutable address read.
        var broker: ForeignBroker
    }

    private static let running = Mutex<Running?>(nil)

    private static func remove() {
        running.withLock { $0?.broker.remove() }
    }

    static func bootstrapServers() throws -> String {
        try running.withLock { running in
            if let running { return running.broker.bootstrapServers }
            let broker = try ForeignBroker()
            running = Running(broker: broker)
            atexit { SharedBroker.remove() }
            return broker.bootstrapServers
        }
    }
}

/// No broker listens here: the port is reserved and never bound.
let unreachableBroker = "127.0.0.1:1"
