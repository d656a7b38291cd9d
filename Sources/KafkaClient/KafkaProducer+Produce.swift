import CRdKafka

extension KafkaProducer {
    /// Lets the key choose the partition (none: a random one).
    public static let anyPartition: Int32 = -1

    /// Queues a message, copying it.
    ///
    /// When this returns, the message will be reported on once; when it throws, it will not.
    ///
    /// - Parameters:
    ///   - topic: from ``topic(_:)`` of this producer.
    ///   - partition: nil: the key decides.
    ///   - key: a nil base address means no key.
    ///   - value: a nil base address means no value, which in a compacted topic deletes the key.
    ///   - opaque: handed back with the report.
    /// - Throws: `KafkaError`: `isQueueFull` when there is no room now (poll, then produce again); `isMessageTooLarge`;
    ///   `isUnknownTopicOrPartition`.
    public func produce(
        to topic: KafkaTopic,
        partition: Int32? = nil,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])] = [],
        opaque: UInt64 = 0
    ) throws(KafkaError) {
        guard let handle else { throw KafkaError.closed("producing to \(topic.name)") }
        let topic = topic.generation == renewals ? topic : try self.topic(topic.name)
        let list = headers.isEmpty ? nil : Self.makeHeaders(headers)
        let code = belfry_rd_kafka_produce(
            handle.pointer,
            topic.pointer,
            partition ?? Self.anyPartition,
            key.baseAddress,
            key.count,
            value.baseAddress,
            value.count,
            list,
            UnsafeMutableRawPointer(bitPattern: UInt(opaque))
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            if let list { rd_kafka_headers_destroy(list) }
            throw KafkaError(code, "producing \(value.count) bytes to \(topic.name)")
        }
    }

    /// Like ``produce(to:partition:key:value:headers:opaque:)``, by the topic's name.
    public func produce(
        topic name: String,
        partition: Int32? = nil,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])] = [],
        opaque: UInt64 = 0
    ) throws(KafkaError) {
        let topic = try topic(name)
        try produce(to: topic, partition: partition, key: key, value: value, headers: headers, opaque: opaque)
    }

    /// Like ``produce(to:partition:key:value:headers:opaque:)``, from arrays; nil means no key, and no value.
    public func produce(
        topic name: String,
        partition: Int32? = nil,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])] = [],
        opaque: UInt64 = 0
    ) throws(KafkaError) {
        let topic = try topic(name)
        let failure: KafkaError? = Self.withBytes(key) { key in
            Self.withBytes(value) { value in
                do throws(KafkaError) {
                    try produce(
                        to: topic,
                        partition: partition,
                        key: key,
                        value: value,
                        headers: headers,
                        opaque: opaque
                    )
                    return nil
                } catch {
                    return error
                }
            }
        }
        if let failure { throw failure }
    }

    /// Nil becomes a buffer without address. An empty array must not: empty differs from absent.
    private static func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        guard let bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        guard bytes.isEmpty else { return bytes.withUnsafeBytes(body) }
        return withUnsafeBytes(of: UInt8(0)) { body(UnsafeRawBufferPointer(rebasing: $0[..<0])) }
    }

    private static func makeHeaders(_ headers: [(String, [UInt8])]) -> OpaquePointer? {
        let list = rd_kafka_headers_new(headers.count)
        for (name, value) in headers {
            value.withUnsafeBytes { bytes in
                // −1: the name ends with a zero byte.
                _ = withUnsafeBytes(of: UInt8(0)) { empty in
                    rd_kafka_header_add(list, name, -1, bytes.baseAddress ?? empty.baseAddress, bytes.count)
                }
            }
        }
        return list
    }
}
