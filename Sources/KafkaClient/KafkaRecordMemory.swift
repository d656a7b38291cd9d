import CRdKafka

/// A record in the shape of librdkafka's message, with the headers beside it.
///
/// librdkafka's functions that take a message read beyond the public structure; what would need them is answered from
/// here. A message of theirs has a topic, one of ours has none and its owner in `_private` instead.
final class KafkaRecordMemory {
    let message: UnsafeMutablePointer<rd_kafka_message_t>
    let topic: String
    let timestampMilliseconds: Int64?
    private let headers: [(name: String, value: UnsafeRawBufferPointer)]

    init(_ record: KafkaRecord) {
        topic = record.topic
        timestampMilliseconds = record.timestampMilliseconds
        headers = record.headers.map { ($0.name, Self.copy($0.value)) }
        message = .allocate(capacity: 1)
        message.initialize(to: rd_kafka_message_t())
        message.pointee.err = RD_KAFKA_RESP_ERR_NO_ERROR
        message.pointee.partition = record.partition
        message.pointee.offset = record.offset
        if let value = record.value.map(Self.copy) {
            message.pointee.payload = UnsafeMutableRawPointer(mutating: value.baseAddress)
            message.pointee.len = value.count
        }
        if let key = record.key.map(Self.copy) {
            message.pointee.key = UnsafeMutableRawPointer(mutating: key.baseAddress)
            message.pointee.key_len = key.count
        }
        message.pointee._private = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        message.pointee.payload?.deallocate()
        message.pointee.key?.deallocate()
        for header in headers { header.value.baseAddress?.deallocate() }
        message.deallocate()
    }

    /// The owner of a message without an error; nil if that is librdkafka.
    static func owner(of message: UnsafePointer<rd_kafka_message_t>) -> KafkaRecordMemory? {
        guard message.pointee.rkt == nil, let owner = message.pointee._private else { return nil }
        return Unmanaged<KafkaRecordMemory>.fromOpaque(owner).takeUnretainedValue()
    }

    /// The value of the last header with this name.
    func header(_ name: String) -> UnsafeRawBufferPointer? {
        headers.last { $0.name == name }?.value
    }

    func forEachHeader(_ body: (_ name: String, _ value: UnsafeRawBufferPointer) -> Void) {
        for header in headers { body(header.name, header.value) }
    }

    /// Never without an address: empty is something else than absent.
    private static func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        memory.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
    }
}
