import PushTopics

@testable import KafkaClient

/// A Kafka topic in memory, and the reader of its partitions; the contract of `KafkaReader`.
final class SimulatedTopic: TopicReader {
    /// The records of a partition in the order of their offsets. There are holes where compaction took some.
    struct Partition {
        var start: Int64 = 0
        var records: [KafkaRecord] = []
        var end: Int64 = 0
        /// Error in place of a message, told once. It comes when the records were read.
        var notice: (error: KafkaBatch.SimulatedError, offset: Int64)?
    }

    let name: String
    var partitions: [Partition]
    /// Of questions.
    var failure: KafkaError?
    var beginFailure: KafkaError?
    /// Called before each answer.
    var onQuestion: () -> Void = {}
    private(set) var questions = 0
    /// Attempts, with where they were to begin.
    private(set) var begins: [KafkaPartitionOffset] = []
    private(set) var stops = 0
    private(set) var isClosed = false
    private var positions: [Int32: Int64] = [:]

    init(_ name: String, partitions: Int = 1) {
        self.name = name
        self.partitions = Array(repeating: Partition(), count: partitions)
    }

    /// All records.
    var records: [KafkaRecord] {
        get { partitions.flatMap(\.records) }
        set {
            for index in partitions.indices { partitions[index].records = newValue.filter { $0.partition == index } }
        }
    }

    /// Appends a record.
    func append(_ value: [UInt8]?, key: [UInt8] = [], to partition: Int = 0) {
        let offset = partitions[partition].end
        partitions[partition].records.append(
            KafkaRecord(topic: name, partition: Int32(partition), offset: offset, key: key, value: value)
        )
        partitions[partition].end += 1
    }

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        begins.append(KafkaPartitionOffset(place, offset: offset))
        if let beginFailure { throw beginFailure }
        positions[place.partition] = offset
    }

    func stop(_ place: KafkaTopicPartition) {
        stops += 1
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
        return .failed(notice.error, at: notice.offset, place)
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

    func close() { isClosed = true }
}
