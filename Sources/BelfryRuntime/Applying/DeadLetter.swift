import KafkaClient
import PipelineCore
import PushSchemas

/// A record that cannot be used, on its way to push.dead-letters: the source's bytes unchanged, the rest in headers.
struct DeadLetter {
    /// Topic of the source record.
    var source: String
    /// Of the source record.
    var offset: Int64
    /// A stable code.
    var reason: String
    /// For a person to read.
    var detail: String
    /// Positions of the tokens at fault; nil if the whole record is.
    var tokens: TokenRuns?
    /// Most bytes of the value that are passed on; nil: all. A value that was cut is marked by a header. Key and inherited
    /// headers are cut to ``textBytes`` then, for they may be what is too large.
    var cutBytes: Int?

    /// Most bytes of the detail, which may quote the record; and of key and inherited headers where the value is cut.
    private static let textBytes = 1024

    /// Headers of the source that are passed on: they say how to read the value, and which trace it belongs to.
    private static let inherited = [RecordContentType.headerName] + RereadRecord.traceHeaderNames

    func publish(
        _ message: KafkaMessageView,
        to topic: String,
        through producer: any MessageProducer,
        opaque: UInt64
    ) throws(KafkaError) {
        var headers: [(String, [UInt8])] = [
            ("reason", Array(reason.utf8)),
            ("detail", Array(detail.utf8.prefix(Self.textBytes))),
            ("source-topic", Array(source.utf8)),
            ("source-partition", Array("\(message.partition)".utf8)),
            ("source-offset", Array("\(offset)".utf8)),
        ]
        if let tokens { headers.append(("token-indices", Array(tokens.text.utf8))) }
        for name in Self.inherited {
            if let value = message.header(name) {
                headers.append((name, Array(value.prefix(cutBytes == nil ? value.count : Self.textBytes))))
            }
        }
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
