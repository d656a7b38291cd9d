import PushSchemas
import SwiftProtobuf

/// The members of a payload that no language and no token changes.
extension NotificationTemplate {
    /// Checks and writes the members of `aps` behind alert and badge.
    static func rest(of notification: PushNotification) throws(NotificationFault) -> JSONMembers {
        var members = JSONMembers()
        if notification.hasSound { try append(notification.sound, to: &members) }
        members.append("content-available", notification.contentAvailable ? 1 : nil)
        members.append("mutable-content", notification.mutableContent ? 1 : nil)
        members.append("category", notification.category)
        members.append("thread-id", notification.threadID)
        members.append("target-content-id", notification.targetContentID)
        let levels = ["", "passive", "active", "time-sensitive", "critical"]
        guard levels.contains(notification.interruptionLevel) else {
            throw NotificationFault(
                "interruption_level",
                "is none; allowed: \(levels.dropFirst().joined(separator: ", "))"
            )
        }
        members.append("interruption-level", notification.interruptionLevel)
        if notification.hasRelevanceScore {
            let score = try share(notification.relevanceScore, "relevance_score")
            members.append("relevance-score") { $0.append(score) }
        }
        members.append("filter-criteria", notification.filterCriteria)
        if notification.hasLiveActivity { try append(notification.liveActivity, to: &members) }
        return members
    }

    /// Checks and writes the app's own keys.
    static func custom(of notification: PushNotification) throws(NotificationFault) -> JSONMembers {
        var members = JSONMembers()
        guard notification.custom.fields["aps"] == nil else {
            throw NotificationFault("custom", "has the key \"aps\", which belongs to the service")
        }
        try members.append(fieldsOf: notification.custom, path: "custom", depth: 1)
        return members
    }

    private static func append(_ sound: PushSound, to members: inout JSONMembers) throws(NotificationFault) {
        let name = sound.name.isEmpty ? "default" : sound.name
        guard sound.critical || sound.hasVolume else { return members.append("sound", name) }
        var parts = JSONMembers()
        parts.append("critical", sound.critical ? 1 : 0)
        parts.append("name", name)
        if sound.hasVolume {
            let volume = try share(sound.volume, "sound.volume")
            parts.append("volume") { $0.append(volume) }
        }
        members.append("sound") {
            $0.append(raw: "{")
            $0.append(json: parts.bytes)
            $0.append(raw: "}")
        }
    }

    private static func append(
        _ activity: PushLiveActivity,
        to members: inout JSONMembers
    ) throws(NotificationFault) {
        let events = ["start", "update", "end"]
        guard events.contains(activity.event) else {
            throw NotificationFault("live_activity.event", "is none; allowed: \(events.joined(separator: ", "))")
        }
        members.append("event", activity.event)
        guard activity.timestamp > 0 else {
            throw NotificationFault("live_activity.timestamp", "is \(activity.timestamp); UNIX seconds are required")
        }
        members.append("timestamp", activity.timestamp)
        if activity.hasContentState {
            try append(activity.contentState, "content-state", "live_activity.content_state", to: &members)
        }
        for (key, field, date) in [
            ("stale-date", "stale_date", activity.staleDate),
            ("dismissal-date", "dismissal_date", activity.dismissalDate),
        ] {
            guard date >= 0 else {
                throw NotificationFault("live_activity.\(field)", "is \(date); UNIX seconds are allowed")
            }
            members.append(key, date == 0 ? nil : date)
        }
        members.append("attributes-type", activity.attributesType)
        if activity.hasAttributes {
            try append(activity.attributes, "attributes", "live_activity.attributes", to: &members)
        }
    }

    private static func append(
        _ fields: Google_Protobuf_Struct,
        _ key: String,
        _ path: String,
        to members: inout JSONMembers
    ) throws(NotificationFault) {
        // The payload, `aps`, and the object itself.
        try members.append(key) { text throws(NotificationFault) in try text.append(fields, path: path, depth: 3) }
    }

    /// A number from 0 to 1.
    private static func share(_ value: Double, _ path: String) throws(NotificationFault) -> Double {
        guard (0...1).contains(value) else { throw NotificationFault(path, "is \(value); 0 to 1 is allowed") }
        return value
    }
}
