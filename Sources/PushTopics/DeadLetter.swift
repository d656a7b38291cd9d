import KafkaClient
import PipelineCore
import PushSchemas

/// A record that cannot be used, on its way to push.dead-letters: the source's bytes unchanged, the rest in headers.
package struct DeadLetter {
    /// Topic of the source record.
    package var source: String
    /// Offset of the source record.
    package var offset: Int64
    /// A stable code.
    package var reason: String
    /// For a person to read.
    package var detail: String
    /// Positions of the tokens at fault; nil if the whole record is.
    package var tokens: TokenRuns?
    /// Most bytes of the value in the dead letter; nil: all. A header marks a value that was cut. The key is then cut
    /// to ``textBytes``, because it may be the part that is too large.
    package var cutBytes: Int?

    /// Most bytes of the detail, which may quote the record; of the name of the encoding, which is passed on; and of
    /// the key if the value is cut.
    private static let textBytes = 1024

    package init(
        source: String,
        offset: Int64,
        reason: String,
        detail: String,
        tokens: TokenRuns? = nil,
        cutBytes: Int? = nil
    ) {
        self.source = source
        self.offset = offset
        self.reason = reason
        self.detail = detail
        self.tokens = tokens
        self.cutBytes = cutBytes
    }

    package func publish(
        _ message: KafkaMessageView,
        to topic: String,
        through producer: any MessageProducer,
        opaque: UInt64
    ) throws(KafkaError) {
        var headers: [(String, [UInt8])] = [
            ("reason", Array(reason.utf8)),
            ("detail", Array(detail.shortened(toBytes: Self.textBytes).utf8)),
            ("source-topic", Array(source.utf8)),
            ("source-partition", Array("\(message.partition)".utf8)),
            ("source-offset", Array("\(offset)".utf8)),
        ]
        if let tokens { headers.append(("token-indices", Array(tokens.text.utf8))) }
        if let type = message.header(RecordContentType.headerName) {
            headers.append((RecordContentType.headerName, Array(type.prefix(Self.textBytes))))
        }
        headers += message.traceHeaders
        var value = message.value
        if let cutBytes, value.count > cutBytes {
            headers.append(("cut-from-bytes", Array("\(value.count)".utf8)))
            value = UnsafeRawBufferPointer(rebasing: value[..<cutBytes])
        }
        var key = message.key
        if cutBytes != nil, key.count > Self.textBytes {
            key = UnsafeRawBufferPointer(rebasing: key[..<Self.textBytes])
        }
        try producer.produce(topic: topic, partition: nil, key: key, value: value, headers: headers, opaque: opaque)
    }
}
