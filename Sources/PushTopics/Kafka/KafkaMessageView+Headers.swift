import KafkaClient
import PushSchemas

extension KafkaMessageView {
    /// The value of the header that names the encoding of the message's value; nil: it has none.
    package var contentTypeHeader: UnsafeRawBufferPointer? { RecordContentType.header { header($0) } }

    /// The encoding of the value, from the message's header.
    package var contentType: RecordContentType { RecordContentType(header: contentTypeHeader) }

    /// Refuses a message with headers of more bytes than the schema allows; see ``RecordHeaders``.
    package func checkHeaders() throws(RecordRefusal) { try RecordHeaders.check(bytes: headerBytes) }

    /// The W3C trace context to be passed on, unchanged.
    package var traceHeaders: [(String, [UInt8])] {
        TraceContext.headerNames.compactMap { name in
            header(name).flatMap { $0.count <= TraceContext.limitBytes ? (name, Array($0)) : nil }
        }
    }
}
