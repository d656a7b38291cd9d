import KafkaClient
import PushSchemas

extension KafkaMessageView {
    /// How the value is written, as the message's header says.
    var contentType: RecordContentType {
        RecordContentType(header: header(RecordContentType.headerName))
    }
}
