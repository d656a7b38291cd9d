import PushSchemas

/// The alert of one language, for any number of payloads: its body is escaped once, whatever its length.
///
/// A class: a copy for each payload would count references to each of its texts.
final class TemplateAlert: Sendable {
    /// Without its body.
    private let alert: PushAlert
    /// Nil: it has none.
    let body: EscapedBody?
    /// Bytes of ``members(arguments:body:)`` with the alert's own arguments and without a body.
    private let bodilessBytes: Int

    /// - Parameter shortens: the body may be cut.
    init(_ alert: PushAlert, shortens: Bool) {
        body = alert.body.isEmpty ? nil : EscapedBody(alert.body, isCut: shortens)
        var bodiless = alert
        bodiless.body = ""
        self.alert = bodiless
        bodilessBytes = Self.members(of: bodiless, [], body: [], hasEllipsis: false).bytes.count
    }

    /// There is nothing to show.
    func isEmpty(arguments: [String]) -> Bool { body == nil && bodilessBytes == 0 && arguments.isEmpty }

    /// Bytes of the member `alert` with the whole body; 0: there is nothing to show.
    ///
    /// - Parameter arguments: in place of those of `loc_key`; empty: the alert's own.
    func bytes(arguments: [String]) -> Int {
        let bodiless =
            arguments.isEmpty ? bodilessBytes : members(arguments: arguments, body: [], hasEllipsis: false).bytes.count
        return bodiless + (body.map { $0.bytes.count + Self.bytesAroundBody } ?? 0)
    }

    /// `"alert":""` around a body alone, or `,"body":""` around one among others: both are as long.
    private static let bytesAroundBody = 10

    /// The member `alert`; none if there is nothing to show.
    ///
    /// - Parameters:
    ///   - arguments: see ``bytes(arguments:)``.
    ///   - body: escaped.
    ///   - hasEllipsis: the body is a beginning of the whole one.
    func members(arguments: [String], body: ArraySlice<UInt8>, hasEllipsis: Bool) -> JSONMembers {
        Self.members(of: alert, arguments, body: body, hasEllipsis: hasEllipsis)
    }

    /// With nothing but a body it is the plain string [13].
    private static func members(
        of alert: PushAlert,
        _ arguments: [String],
        body: ArraySlice<UInt8>,
        hasEllipsis: Bool
    ) -> JSONMembers {
        var body = JSONText(escaped: body)
        if hasEllipsis { body.append(raw: EscapedBody.ellipsis) }
        let parts = JSONMembers(of: alert, arguments, escapedBody: body)
        var members = JSONMembers()
        guard !parts.isEmpty else { return members }
        members.text = JSONText(bytes: parts.bytes.count + JSONMembers.spareBytes)
        members.append("alert") { text in
            if parts.count == 1, !body.bytes.isEmpty { return text.append(escaped: body) }
            text.append(raw: "{")
            text.append(json: parts.bytes)
            text.append(raw: "}")
        }
        return members
    }
}

extension JSONMembers {
    /// Room for what stands around the texts of an alert with a title and a body.
    fileprivate static let spareBytes = 32

    fileprivate init(of alert: PushAlert, _ arguments: [String], escapedBody body: JSONText) {
        text = JSONText(bytes: alert.title.utf8.count + body.bytes.count + Self.spareBytes)
        append("title", alert.title)
        append("subtitle", alert.subtitle)
        if !body.bytes.isEmpty { append("body") { $0.append(escaped: body) } }
        append("loc-key", alert.locKey)
        append("loc-args", arguments.isEmpty ? alert.locArgs : arguments)
        append("title-loc-key", alert.titleLocKey)
        append("title-loc-args", alert.titleLocArgs)
        append("subtitle-loc-key", alert.subtitleLocKey)
        append("subtitle-loc-args", alert.subtitleLocArgs)
        append("action-loc-key", alert.actionLocKey)
        if alert.withoutAction { append("action-loc-key") { $0.append(raw: "null") } }
        append("launch-image", alert.launchImage)
        append("summary-arg", alert.summaryArg)
    }
}
