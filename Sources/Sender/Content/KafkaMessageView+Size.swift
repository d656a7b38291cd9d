import KafkaClient
import PushSchemas
import PushTopics
import RequestRules

extension KafkaMessageView {
    /// Refuses a request's record that is too large to be looked into.
    @inline(__always)
    func checkSize() throws(RecordRefusal) {
        guard value.count <= RequestValue.limitBytes else { throw RequestValue.tooLarge(value.count) }
        try checkHeaders()
    }
}
