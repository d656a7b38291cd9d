import APNsProtocol
import PayloadRendering
import PushSchemas

/// A request, judged as far as that goes without its payloads and tokens.
package struct JudgedRequest: Sendable {
    /// See ``ProviderTerms/namedPushType(of:)``; nil also over the binary interface.
    private let pushType: PushType?
    /// The longest payload.
    package let limitBytes: Int
    /// Judges the payloads.
    package let terms: TermsRule

    /// No initializer: its parameter would be copied.
    ///
    /// - Parameter payload: of the topic.
    /// - Throws: `push-type-invalid`, `collapse-id-invalid`, and the errors of ``BroadcastRule``.
    package static func judge(
        _ request: SendRequestView,
        over transport: APNsTransport,
        _ payload: PayloadSizeRule
    ) throws(RecordRefusal) -> JudgedRequest {
        let isHTTP2 = transport == .http2
        let pushType = isHTTP2 ? try ProviderTerms.namedPushType(of: request) : nil
        if request.isBroadcast { try BroadcastRule.check(request, transport, pushType) }
        return JudgedRequest(
            pushType: pushType,
            limitBytes: request.isBroadcast ? PayloadLimit.broadcast : payload.limitBytes(of: pushType),
            terms: TermsRule(provider: isHTTP2 ? try UnjudgedProviderFields(request, named: pushType) : nil)
        )
    }

    /// The request's structured notification; nil: it has a payload.
    ///
    /// - Parameters:
    ///   - request: the one that was judged.
    ///   - template: that of its notification, if it was made before.
    /// - Throws: `notification-invalid`.
    package func notification(
        of request: SendRequestView,
        template: NotificationTemplate? = nil
    ) throws(RecordRefusal) -> StructuredContent? {
        request.isStructured ? try StructuredContent(of: request, pushType, template: template) : nil
    }
}

extension RecordRefusal {
    /// A payload that breaks a rule, or is too long.
    package init(_ error: PayloadError) {
        self.init(reason: "payload-invalid", detail: "\(error)")
    }
}
