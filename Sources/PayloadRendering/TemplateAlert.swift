import PushSchemas

extension JSONMembers {
    /// The member `alert`; none if there is nothing to show. One with nothing but a body is the plain string [13].
    init(of alert: PushAlert?) {
        guard let alert else { return }
        let members = JSONMembers(membersOf: alert)
        guard !members.isEmpty else { return }
        text = JSONText(bytes: members.bytes.count + Self.spareBytes)
        append("alert") { text in
            if members.count == 1, !alert.body.isEmpty { return text.append(alert.body) }
            text.append(raw: "{")
            text.append(json: members.bytes)
            text.append(raw: "}")
        }
    }

    /// Room for what stands around the texts of an alert with a title and a body.
    private static let spareBytes = 32

    private init(membersOf alert: PushAlert) {
        text = JSONText(bytes: alert.title.utf8.count + alert.body.utf8.count + Self.spareBytes)
        append("title", alert.title)
        append("subtitle", alert.subtitle)
        append("body", alert.body)
        append("loc-key", alert.locKey)
        append("loc-args", alert.locArgs)
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
