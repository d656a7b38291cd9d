import KafkaClient
import PushSchemas
import PushTopics
import RequestRules

extension KafkaMessageView {
    /// Decodes a request out of the record's value, which must outlive the view. A value that is too large is refused
    /// without a look into it.
    ///
    /// - Parameter memo: views that are decoded with the same one may share their notification.
    @inline(__always)
    func request(memo: NotificationMemo? = nil) throws(RecordRefusal) -> SendRequestView {
        guard value.count <= RequestValue.limitBytes else { throw RequestValue.tooLarge(value.count) }
        try checkHeaders()
        do throws(RecordError) {
            return try SendRequestView(decoding: value, as: contentType, memo: memo)
        } catch {
            throw RecordRefusal(error)
        }
    }
}
