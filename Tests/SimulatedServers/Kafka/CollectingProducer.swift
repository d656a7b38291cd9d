import PushTopics

@testable import KafkaClient

/// Takes what is produced, and reports on it when it is polled, unless it is silent; the contract of `KafkaProducer`.
final class CollectingProducer: MessageProducer {
    struct Record {
        var topic: String
        var key: [UInt8]?
        /// Nil: the record says that what its key names is gone.
        var content: [UInt8]?
        var headers: [(String, [UInt8])]
        var number: UInt64

        var value: [UInt8] { content ?? [] }

        func header(_ name: String) -> String? { headers.text(name) }
    }

    /// Nothing is reported for now.
    var isSilent = false
    /// Kafka topics whose records the broker does not acknowledge.
    var refused: Set<String> = []
    /// Most records without a report; nil: any number.
    var room: Int?
    /// The broker's objection to a record; it is thrown, not reported.
    var objection: (Record) -> KafkaError? = { _ in nil }
    /// Called with each record that is taken.
    var onProduce: (Record) -> Void = { _ in }
    var onDelivery: (UInt64) -> Void = { _ in }
    /// Records that it was given, taken or not.
    private(set) var attempts = 0
    /// Records that were taken, in order.
    private(set) var records: [Record] = []
    private var unreported: [UInt64] = []

    func records(of topic: String) -> [Record] { records.filter { $0.topic == topic } }

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try take(.init(topic: name, key: Array(key), content: Array(value), headers: headers, number: opaque))
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try take(.init(topic: name, key: key, content: value, headers: headers, number: opaque))
    }

    private func take(_ record: Record) throws(KafkaError) {
        attempts += 1
        if let room, unreported.count >= room { throw .ofProducer("_QUEUE_FULL", -184) }
        if let objection = objection(record) { throw objection }
        records.append(record)
        if !refused.contains(record.topic) { unreported.append(record.number) }
        onProduce(record)
    }

    func poll(timeoutMilliseconds: Int32) {
        guard !isSilent else { return }
        let numbers = unreported
        unreported = []
        for number in numbers { onDelivery(number) }
    }

    func close(flushMilliseconds: Int32) {}
}

extension KafkaError {
    /// An error as a producer throws or reports it.
    static func ofProducer(_ name: String, _ code: Int32) -> KafkaError {
        KafkaError(code: code, name: name, message: name, isRetriable: false, isFatal: false)
    }
}

/// The headers of a record as a producer is handed them. Names may repeat.
extension [(String, [UInt8])] {
    /// The text of the first header of a name; nil: there is none.
    func text(_ name: String) -> String? {
        first { $0.0 == name }.map { String(decoding: $0.1, as: UTF8.self) }
    }
}
