import CRdKafka
import Glibc

/// One consumed message, read in place.
///
/// A view is one pointer into its ``KafkaBatch``. It, and every buffer taken from it, is valid until the batch is
/// released.
public struct KafkaMessageView {
    @usableFromInline let message: UnsafePointer<rd_kafka_message_t>

    @usableFromInline
    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        self.message = message
    }

    /// The view shows an error in place of a message.
    @inlinable
    public var isError: Bool { message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR }

    /// The error in place of a message; nil for a message. The end of the partition, an offset out of range, a topic
    /// that does not exist, or the loss of membership (`max.poll.interval.ms`).
    ///
    /// Value and key are then empty; `offset` and `partition` are negative where they make no sense.
    @inlinable
    public var error: KafkaError? { isError ? makeError() : nil }

    /// The topic's name; empty for an error that concerns no topic.
    public var topic: String {
        if let topic = message.pointee.rkt { return String(cString: rd_kafka_topic_name(topic)) }
        return isError ? "" : inMemory?.topic ?? ""
    }

    @inlinable
    public var partition: Int32 { message.pointee.partition }

    @inlinable
    public var offset: Int64 { message.pointee.offset }

    /// The message's value. Without one (a tombstone of a compacted topic) the base address is nil.
    @inlinable
    public var value: UnsafeRawBufferPointer {
        // For an error the payload is its text.
        isError
            ? UnsafeRawBufferPointer(start: nil, count: 0)
            : UnsafeRawBufferPointer(start: message.pointee.payload, count: message.pointee.len)
    }

    /// The message's key. Without one the base address is nil.
    @inlinable
    public var key: UnsafeRawBufferPointer {
        isError
            ? UnsafeRawBufferPointer(start: nil, count: 0)
            : UnsafeRawBufferPointer(start: message.pointee.key, count: message.pointee.key_len)
    }

    /// The time of creating or appending the message (by the topic's setting), UNIX milliseconds; nil without one.
    public var timestampMilliseconds: Int64? {
        if let inMemory { return inMemory.timestampMilliseconds }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let milliseconds = rd_kafka_message_timestamp(message, &kind)
        return kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || milliseconds < 0 ? nil : milliseconds
    }

    /// The value of the last header with this name; nil if there is none. An empty one has a count of 0.
    ///
    /// The first look at a message with headers parses all of them, which allocates; later ones do not.
    public func header(_ name: String) -> UnsafeRawBufferPointer? {
        if let inMemory { return inMemory.header(name) }
        guard let headers = parsedHeaders else { return nil }
        var value: UnsafeRawPointer?
        var bytes = 0
        guard rd_kafka_header_get_last(headers, name, &value, &bytes) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : bytes)
    }

    /// Names and values of all headers, in bytes; 0 without any. Nil: there are some that cannot be read, because they
    /// are damaged or 8,192 and more. Such headers are not handed out either.
    public var headerBytes: Int? { headerSize?.bytes }

    /// Bytes of the record: value, key and headers.
    public var recordBytes: Int { value.count + key.count + (headerBytes ?? Self.unreadHeaderBytes) }

    /// Most bytes of memory that the message takes while it waits: the record, what librdkafka or a copy of ours keeps
    /// beside it, and its headers once more, which are parsed into a list when they are looked at.
    public var memoryBytes: Int {
        let fixed = value.count + key.count + Self.messageBytes
        guard let size = headerSize else { return fixed + Self.unreadHeaderBytes }
        return fixed + 2 * size.bytes + size.count * Self.headerBytes
    }

    /// Bytes that headers count for which cannot be read: Kafka's default limit of a message.
    private static let unreadHeaderBytes = 1 << 20
    /// Memory of a message beside its bytes: about 350 bytes of librdkafka's operation, or of a ``KafkaBatch`` of one.
    private static let messageBytes = 384
    /// Memory of a header beside name and value: in either form a structure, two terminators and a pointer.
    private static let headerBytes = 80

    /// Headers, and bytes of their names and values; nil: they cannot be read.
    private var headerSize: (count: Int, bytes: Int)? {
        // Asked several times for each record, most of which have none.
        guard mayHaveHeaders else { return (0, 0) }
        if let inMemory { return inMemory.headerSize }
        guard !RecordLayout.hasManyHeaders(key: key, value: value) else { return nil }
        var headers: OpaquePointer?
        switch rd_kafka_message_headers(message, &headers) {
        case RD_KAFKA_RESP_ERR_NO_ERROR: break
        case RD_KAFKA_RESP_ERR__NOENT: return (0, 0)
        default: return nil
        }
        var size = (count: 0, bytes: 0)
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var bytes = 0
        while rd_kafka_header_get_all(headers, size.count, &name, &value, &bytes) == RD_KAFKA_RESP_ERR_NO_ERROR {
            size.count += 1
            size.bytes += bytes + (name.map { strlen($0) } ?? 0)
        }
        return size.count < RecordLayout.manyHeaders ? size : nil
    }

    /// All headers in their order; names may repeat.
    public func forEachHeader(_ body: (_ name: String, _ value: UnsafeRawBufferPointer) -> Void) {
        if let inMemory { return inMemory.forEachHeader(body) }
        guard let headers = parsedHeaders else { return }
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var bytes = 0
        while rd_kafka_header_get_all(headers, index, &name, &value, &bytes) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let text = name
        {
            body(String(cString: text), UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : bytes))
            index += 1
        }
    }

    /// The record in memory; nil for a message of librdkafka.
    private var inMemory: KafkaRecordMemory? {
        isError ? nil : KafkaRecordMemory.owner(of: message)
    }

    private var mayHaveHeaders: Bool { !isError && !RecordLayout.hasNoHeaders(key: key, value: value) }

    private var parsedHeaders: OpaquePointer? {
        guard mayHaveHeaders, !RecordLayout.hasManyHeaders(key: key, value: value) else { return nil }
        var headers: OpaquePointer?
        guard rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return headers
    }

    @usableFromInline
    func makeError() -> KafkaError {
        let place = message.pointee.rkt == nil ? "consumer" : "consuming \(topic)[\(partition)] at offset \(offset)"
        return KafkaError(
            message.pointee.err,
            place,
            detail: rd_kafka_message_errstr(message).map { String(cString: $0) }
        )
    }
}
