import BelfrySupport
import Foundation
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

@testable import KafkaClient

/// A compacted topic in memory, for a follower to read; the contract of `KafkaReader`. It passes for push.tombstones.
final class ScriptedTopic: TopicReader {
    /// The records of a partition in the order of their offsets. There are holes where compaction took some.
    struct Partition {
        var start: Int64 = 0
        var records: [KafkaRecord] = []
        var end: Int64 = 0
        /// Notice in place of a message, told once. It comes when the records before it were read.
        var notice: (code: Int32, offset: Int64)?
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

    /// `RD_KAFKA_RESP_ERR__PARTITION_EOF`.
    static let partitionEnd: Int32 = -191
    /// `RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET`.
    static let outOfRange: Int32 = -140

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
        let publisher = TombstonePublisher(producer: producer, topic: Self.name, logger: LogLines().logger) {
            MonotonicTime(.now())
        }
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
        guard let last = records.last else { return takeNotice(place) }
        positions[place.partition] = last.offset + 1
        return KafkaBatch(Array(records))
    }

    private func takeNotice(_ place: KafkaTopicPartition) -> KafkaBatch? {
        guard let notice = partitions[Int(place.partition)].notice else { return nil }
        partitions[Int(place.partition)].notice = nil
        let record = KafkaRecord(
            topic: Self.name,
            partition: place.partition,
            offset: notice.offset,
            key: nil,
            value: nil
        )
        let batch = KafkaBatch([record])
        batch.messages[0].pointee.err = .init(rawValue: notice.code)
        return batch
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaWatermarks] {
        questions += 1
        onQuestion()
        if let failure { throw failure }
        return places.map { place in
            let partition = partitions[Int(place.partition)]
            return KafkaWatermarks(low: partition.start, high: partition.end)
        }
    }

    func close() {
        isClosed = true
    }
}
