import APNsProtocol
import PayloadRendering
import PushSchemas

/// The structured notification of a request, judged.
package struct StructuredContent: Sendable {
    package let template: NotificationTemplate
    /// Of the request; nil: not said.
    private let priority: UInt8?
    /// The push type takes the priority as it is said, whatever the device notices.
    private let keepsPriority: Bool

    /// Nil: the request has a payload.
    ///
    /// - Parameters:
    ///   - named: the push type that the request names over HTTP/2; nil: none, or the binary interface.
    ///   - template: that of the request's notification, if it was made before.
    /// - Throws: `notification-invalid`.
    package init?(
        of request: SendRequestView,
        _ named: PushType?,
        template known: NotificationTemplate? = nil
    ) throws(RecordRefusal) {
        guard let message = request.notification else { return nil }
        priority = request.priority
        keepsPriority =
            switch named {
            case nil, .alert, .background: false
            default: true
            }
        do throws(NotificationFault) {
            template = if let known { known } else { try NotificationTemplate(message) }
            if !keepsPriority, priority == 10 {
                try template.check(priority, overridesBadge: Self.overridesBadge(request))
            }
        } catch {
            throw RecordRefusal(error)
        }
    }

    private static func overridesBadge(_ request: SendRequestView) -> Bool {
        request.hasOverrides && (0..<request.tokenCount).contains { request.token(at: $0).overrides?.badge != nil }
    }

    /// The change of a token's badge; nil: none.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    package func badgeChange(overrides: TokenOverrides?) -> BadgeChange? {
        overrides?.badge.map(BadgeChange.set) ?? template.badge
    }

    /// The priority of the request, as one of its payloads allows it.
    package func priority(
        language: Int = 0,
        overrides: TokenOverrides = TokenOverrides()
    ) -> NotificationTemplate.FittedPriority {
        guard !keepsPriority else { return NotificationTemplate.FittedPriority(priority: priority) }
        return template.fitted(priority, language: language, overrides: overrides)
    }

    /// Makes one of the payloads, and judges it.
    ///
    /// - Parameters:
    ///   - language: of the template's numbers.
    ///   - judged: the request.
    /// - Throws: `payload-invalid`: it is too long. `priority-invalid`.
    package func payload(
        language: Int,
        overrides: TokenOverrides,
        by judged: JudgedRequest
    ) throws(RecordRefusal) -> (bytes: [UInt8], terms: DeliveryTerms) {
        let bytes: [UInt8]
        do throws(NotificationFault) {
            bytes = try template.payload(language: language, overrides: overrides, limitBytes: judged.limitBytes)
        } catch {
            throw RecordRefusal(error)
        }
        let priority = priority(language: language, overrides: overrides).priority
        let terms = try judged.terms(
            priority: priority,
            inferred: template.pushType(language: language, overrides: overrides)
        )
        return (bytes, terms)
    }

    /// Says what was changed for a token, for the publisher to know; empty: nothing.
    ///
    /// The number that a token got, if the notification adds to it, is not known any more: it counts as there.
    ///
    /// - Parameter overrides: the token's own values; nil: none.
    package func warning(for overrides: TokenOverrides?) -> String {
        var overrides = overrides ?? TokenOverrides()
        if template.badge != nil, overrides.badge == nil { overrides.badge = 0 }
        guard overrides.locale.isEmpty else {
            return priority(language: template.languages.number(of: overrides.locale), overrides: overrides).warning
        }
        // The language that the device was registered with is not known any more.
        let warnings = template.languageNumbers.map { priority(language: $0, overrides: overrides).warning }
        guard let warning = warnings.first(where: { !$0.isEmpty }) else { return "" }
        return warnings.contains("") ? "in some languages " + warning : warning
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
