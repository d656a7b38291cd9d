import Foundation
import PushSchemas

@testable import BelfryRuntime
@testable import KafkaClient

/// push.tombstones in memory, for a follower to read; the contract of `KafkaReader`.
final class ScriptedTopic: TopicReader {
    /// What a partition holds; records in the order of their offsets, with holes where compaction took some.
    struct Partition {
        var start: Int64 = 0
        var records: [KafkaRecord] = []
        var end: Int64 = 0
    }

    static let name = "push.tombstones"

    var partitions: [Partition]
    /// Of questions.
    var failure: KafkaError?
    var beginFailure: KafkaError?
    /// Called before each answer.
    var onQuestion: () -> Void = {}
    private(set) var questions = 0
    /// Attempts, with where they were to begin.
    private(set) var begins: [[Int32: Int64]] = []
    private(set) var isClosed = false
    private var positions: [Int32: Int64] = [:]

    init(partitions: Int = 1) {
        self.partitions = Array(repeating: Partition(), count: partitions)
    }

    static let gone = KafkaError(
        code: 3,
        name: "UNKNOWN_TOPIC_OR_PART",
        message: "watermarks",
        isRetriable: true,
        isFatal: false
    )

    /// Appends a record.
    func append(_ value: [UInt8]?, key: [UInt8] = [], to partition: Int = 0) {
        let offset = partitions[partition].end
        partitions[partition].records.append(
            KafkaRecord(topic: Self.name, partition: Int32(partition), offset: offset, key: key, value: value)
        )
        partitions[partition].end += 1
    }

    /// Appends what the publisher writes about a change.
    func append(_ change: TokenChange, _ facts: TokenFacts, to partition: Int = 0) {
        let producer = CollectingProducer()
        let publisher = TombstonePublisher(producer: producer, topic: Self.name, logger: LogLines().logger)
        publisher.publish(change, facts) {}
        for record in producer.records { append(record.value, key: record.key ?? [], to: partition) }
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        if begins.isEmpty || begins[begins.count - 1][place.partition] != nil { begins.append([:]) }
        begins[begins.count - 1][place.partition] = offset
        if let beginFailure { throw beginFailure }
        positions[place.partition] = offset
    }

    func stop(_ place: KafkaTopicPartition) {
        positions[place.partition] = nil
    }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        guard failure == nil, let position = positions[place.partition] else { return nil }
        let records = partitions[Int(place.partition)].records.filter { $0.offset >= position }.prefix(max)
        guard let last = records.last else { return nil }
        positions[place.partition] = last.offset + 1
        return KafkaBatch(Array(records))
    }

    func watermarks(of place: KafkaTopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaWatermarks {
        questions += 1
        onQuestion()
        if let failure { throw failure }
        let partition = partitions[Int(place.partition)]
        return KafkaWatermarks(low: partition.start, high: partition.end)
    }

    func close() {
        isClosed = true
    }
}

extension TokenChange {
    /// The death of a token of 32 equal bytes.
    static func death(
        _ token: UInt8,
        bundleID: String = TokenStore.bundleID,
        environment: String = TokenStore.environment
    ) -> TokenChange {
        TokenChange(
            environment: environment,
            bundleID: bundleID,
            token: Array(repeating: token, count: 32),
            kind: .tombstone(at: 1, .feedback)
        )
    }
}

extension TokenFacts {
    static func dead(at tombstonedAt: UInt32, registeredAt: UInt32 = 0) -> TokenFacts {
        TokenFacts(registeredAt: registeredAt, tombstonedAt: tombstonedAt, reason: .feedback, wasRevived: false)
    }

    static func revived(at registeredAt: UInt32) -> TokenFacts {
        TokenFacts(registeredAt: registeredAt, tombstonedAt: 0, reason: .none, wasRevived: true)
    }
}

extension TombstoneFilters {
    /// Whether a token of 32 equal bytes is to be asked of Redis.
    func holds(
        _ token: UInt8,
        bundleID: String = TokenStore.bundleID,
        environment: String = TokenStore.environment
    ) -> Bool {
        let hash = Array(repeating: token, count: 32).withUnsafeBytes { TombstoneFilter.hash($0) }
        return filter(environment: environment, bundleID: bundleID).contains(hash)
    }
}
