import KafkaClient
import PushSchemas

extension KafkaMessageView {
    /// The encoding of the value, from the message's header.
    package var contentType: RecordContentType {
        RecordContentType(header: header(RecordContentType.headerName))
    }
}
