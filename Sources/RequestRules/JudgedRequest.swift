import APNsProtocol
import PayloadRendering
import PushSchemas

/// A request, judged as far as that goes without its payloads and tokens.
package struct JudgedRequest: Sendable {
    let transport: APNsTransport
    /// See ``APNsProtocol/PushType/named(by:)``; nil also over the binary interface.
    let namedPushType: PushType?
    /// The value of `apns-collapse-id`; empty: none, or the binary interface.
    let collapseID: [UInt8]
    let isBroadcast: Bool
    /// The longest payload.
    package let limitBytes: Int

    /// The rule for `aps` in payloads. An inferred push type follows from what stands in it.
    package var aps: ApsRule { namedPushType?.aps ?? .required }

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
        let pushType = isHTTP2 ? try PushType.named(by: request) : nil
        if request.isBroadcast { try BroadcastRule.check(request, transport, pushType) }
        if isHTTP2 { try checkCollapseID(of: request) }
        return JudgedRequest(
            transport: transport,
            namedPushType: pushType,
            collapseID: isHTTP2 ? Array(request.collapseID) : [],
            isBroadcast: request.isBroadcast,
            limitBytes: request.isBroadcast ? PayloadLimit.broadcast : payload.limitBytes(of: pushType)
        )
    }

    private static func checkCollapseID(of request: SendRequestView) throws(RecordRefusal) {
        guard request.collapseID.isEmpty || CollapseID.isValid(request.collapseID) else {
            throw RecordRefusal(
                reason: "collapse-id-invalid",
                detail: "'collapse_id' has \(request.collapseID.count) bytes and cannot be a header's value; allowed: "
                    + "1 to \(CollapseID.limitBytes) bytes without control characters, and without spaces at its ends"
            )
        }
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
        guard request.isStructured else { return nil }
        guard aps != .forbidden else {
            throw RecordRefusal(
                reason: "notification-invalid",
                detail: "'notification' makes a payload with \"aps\", which the push type "
                    + "\(namedPushType?.rawValue ?? "") has not; allowed: 'payload' or 'payload_json'"
            )
        }
        return try StructuredContent(of: request, namedPushType, template: template)
    }
}

extension PushType {
    /// The push type that a request names; nil: none. A broadcast has only one, and need not name it.
    ///
    /// - Throws: `push-type-invalid`.
    package static func named(by request: SendRequestView) throws(RecordRefusal) -> PushType? {
        guard !request.pushType.isEmpty else { return request.isBroadcast ? .liveactivity : nil }
        let name = String(decoding: request.pushType, as: UTF8.self)
        guard let pushType = PushType(rawValue: name) else {
            let allowed = PushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordRefusal(
                reason: "push-type-invalid",
                detail: "'push_type' is '\(printable(name))'; allowed: \(allowed)"
            )
        }
        return pushType
    }
}

extension RecordRefusal {
    /// A payload that breaks a rule, or is too long.
    package init(_ error: PayloadError) {
        self.init(reason: "payload-invalid", detail: "\(error)")
    }
}
