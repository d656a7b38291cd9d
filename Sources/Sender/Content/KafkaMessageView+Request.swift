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

    /// The publisher's id of the request, shortened; nil: it has none, or cannot be read. Decodes the record.
    var requestID: String? {
        guard let decoded = try? request(), !decoded.requestID.isEmpty else { return nil }
        return String(decoding: decoded.requestID, as: UTF8.self).shortened(toBytes: 200)
    }
}
