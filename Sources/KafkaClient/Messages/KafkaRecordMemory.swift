import CRdKafka

/// A record in the shape of librdkafka's message, with the headers beside it.
///
/// librdkafka's functions for a message read beyond the public structure; for messages in memory this class takes their
/// place. A message of librdkafka has a topic; one of ours has none, and its owner in `_private` instead.
final class KafkaRecordMemory {
    let message: UnsafeMutablePointer<rd_kafka_message_t>
    let topic: String
    let timestampMilliseconds: Int64?
    private let headers: [(name: String, value: UnsafeRawBufferPointer)]

    convenience init(_ record: KafkaRecord) {
        self.init(
            topic: record.topic,
            partition: record.partition,
            offset: record.offset,
            timestampMilliseconds: record.timestampMilliseconds,
            key: record.key.map(Self.copy),
            value: record.value.map(Self.copy),
            headers: record.headers.map { ($0.name, Self.copy($0.value)) }
        )
    }

    /// Copies a message; absent parts stay absent, and empty ones stay empty.
    convenience init(copying message: KafkaMessageView) {
        var headers: [(name: String, value: UnsafeRawBufferPointer)] = []
        message.forEachHeader { name, value in headers.append((name, Self.copy(value))) }
        self.init(
            topic: message.topic,
            partition: message.partition,
            offset: message.offset,
            timestampMilliseconds: message.timestampMilliseconds,
            key: Self.copy(message.key),
            value: Self.copy(message.value),
            headers: headers
        )
    }

    /// Takes over the buffers.
    private init(
        topic: String,
        partition: Int32,
        offset: Int64,
        timestampMilliseconds: Int64?,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: [(name: String, value: UnsafeRawBufferPointer)]
    ) {
        self.topic = topic
        self.timestampMilliseconds = timestampMilliseconds
        self.headers = headers
        message = .allocate(capacity: 1)
        message.initialize(to: rd_kafka_message_t())
        message.pointee.err = RD_KAFKA_RESP_ERR_NO_ERROR
        message.pointee.partition = partition
        message.pointee.offset = offset
        if let value {
            message.pointee.payload = UnsafeMutableRawPointer(mutating: value.baseAddress)
            message.pointee.len = value.count
        }
        if let key {
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

    /// The owner of a message without an error; nil if librdkafka owns it.
    static func owner(of message: UnsafePointer<rd_kafka_message_t>) -> KafkaRecordMemory? {
        guard message.pointee.rkt == nil, let owner = message.pointee._private else { return nil }
        return Unmanaged<KafkaRecordMemory>.fromOpaque(owner).takeUnretainedValue()
    }

    /// The value of the last header with this name.
    func header(_ name: String) -> UnsafeRawBufferPointer? {
        headers.last { $0.name == name }?.value
    }

    /// Headers, and bytes of their names and values; nil: too many of them.
    var headerSize: (count: Int, bytes: Int)? {
        guard headers.count < RecordLayout.manyHeaders else { return nil }
        return (headers.count, headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.count })
    }

    func forEachHeader(_ body: (_ name: String, _ value: UnsafeRawBufferPointer) -> Void) {
        for header in headers { body(header.name, header.value) }
    }

    private static func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        bytes.withUnsafeBytes(allocate)
    }

    /// Copies bytes. Absent bytes have no address, and neither has their copy.
    private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        bytes.baseAddress == nil ? bytes : allocate(bytes)
    }

    /// The result always has an address: empty differs from absent.
    private static func allocate(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        memory.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
    }
}
