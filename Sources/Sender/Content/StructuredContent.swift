import APNsProtocol
import PayloadRendering
import PushSchemas
import PushTopics

/// The structured notification of a request, judged.
struct StructuredContent {
    let template: NotificationTemplate
    /// The priority of the request, as the notification allows it.
    let priority: NotificationTemplate.FittedPriority

    /// Nil: the request has a payload.
    ///
    /// - Parameter named: the push type that the request names over HTTP/2; nil: none, or the binary interface.
    /// - Throws: `notification-invalid`.
    init?(of request: SendRequestView, _ named: PushType?) throws(RecordRefusal) {
        guard let message = request.notification else { return nil }
        do throws(NotificationFault) {
            template = try NotificationTemplate(message)
            priority = try Self.fitted(request, template, named)
        } catch {
            throw RecordRefusal(error)
        }
    }

    private static func fitted(
        _ request: SendRequestView,
        _ template: NotificationTemplate,
        _ named: PushType?
    ) throws(NotificationFault) -> NotificationTemplate.FittedPriority {
        switch named {
        case nil, .alert, .background:
            let overridesBadge =
                request.hasOverrides
                && (0..<request.tokenCount).contains { request.token(at: $0).overrides?.badge != nil }
            return try template.fitted(request.priority, overridesBadge: overridesBadge)
        default:
            return NotificationTemplate.FittedPriority(priority: request.priority)
        }
    }
}

extension RecordRefusal {
    init(_ fault: NotificationFault) {
        self =
            fault.isTooLong
            ? RecordRefusal(reason: "payload-invalid", detail: "\(fault)")
            : RecordRefusal(reason: "notification-invalid", detail: "\(fault)")
    }
}
