import PushSchemas

extension PushAlert {
    /// It has nothing to show.
    var isEmpty: Bool { self == PushAlert() }

    fileprivate var hasOnlyBody: Bool {
        var other = self
        other.body = ""
        return other.isEmpty
    }
}

extension JSONText {
    /// Appends an alert: one with nothing but a body as the plain string [13].
    mutating func append(_ alert: PushAlert) {
        guard !alert.hasOnlyBody else { return append(alert.body) }
        var members = JSONMembers()
        members.append("title", alert.title)
        members.append("subtitle", alert.subtitle)
        members.append("body", alert.body)
        members.append("loc-key", alert.locKey)
        members.append("loc-args", alert.locArgs)
        members.append("title-loc-key", alert.titleLocKey)
        members.append("title-loc-args", alert.titleLocArgs)
        members.append("subtitle-loc-key", alert.subtitleLocKey)
        members.append("subtitle-loc-args", alert.subtitleLocArgs)
        members.append("action-loc-key", alert.actionLocKey)
        if alert.withoutAction { members.append("action-loc-key") { $0.append(raw: "null") } }
        members.append("launch-image", alert.launchImage)
        members.append("summary-arg", alert.summaryArg)
        append(raw: "{")
        append(json: members.bytes)
        append(raw: "}")
    }
}
