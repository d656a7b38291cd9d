@testable import KafkaClient

extension KafkaBatch {
    /// Errors that come in place of a record.
    enum SimulatedError: Int32 {
        case offsetOutOfRange = 1
        /// The position is before the first offset, or beyond the end.
        case autoOffsetReset = -140
        case partitionEnd = -191
        case badMessage = -199
    }

    /// A batch that says why there are no records.
    static func failed(_ error: SimulatedError, at offset: Int64, _ place: KafkaTopicPartition) -> KafkaBatch {
        let record = KafkaRecord(topic: place.topic, partition: place.partition, offset: offset, key: nil, value: nil)
        let batch = KafkaBatch([record])
        batch.messages[0].pointee.err = .init(rawValue: error.rawValue)
        return batch
    }
}
