import PayloadRendering
import PushSchemas
import RequestRules

/// The template of the last structured notification, for the next request that carries the same.
struct LastTemplate {
    private var last: (notification: DecodedNotification, template: NotificationTemplate)?

    /// The structured notification of a request, judged; nil: the request has a payload.
    ///
    /// - Throws: `notification-invalid`.
    mutating func content(
        of request: SendRequestView,
        _ judged: JudgedRequest
    ) throws(RecordRefusal) -> StructuredContent? {
        guard let notification = request.decodedNotification else { return nil }
        if let last, last.notification === notification {
            return try judged.notification(of: request, template: last.template)
        }
        let content = try judged.notification(of: request)
        if let content { last = (notification, content.template) }
        return content
    }
}
