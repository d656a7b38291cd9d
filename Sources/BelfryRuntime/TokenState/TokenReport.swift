/// The state of one token, for people and tools.
public struct TokenReport: Equatable, Sendable {
    /// UNIX seconds; 0: never.
    public let registeredAt: UInt32
    /// UNIX seconds; 0: not.
    public let tombstonedAt: UInt32
    /// `feedback`, `invalid-token`, `unregistered`, or `none`.
    public let reason: String
    /// Nothing is sent to a dead token.
    public let isDead: Bool
    public let locale: String
    public let timeZone: String
    /// The number last sent; nil: none was.
    public let badge: UInt32?

    init(_ record: TokenRecord) {
        registeredAt = record.registeredAt
        tombstonedAt = record.tombstonedAt
        reason = record.reason.name
        isDead = record.isDead
        locale = record.texts.locale
        timeZone = record.texts.timeZone
        badge = record.badge
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("state", isDead ? "dead" : "alive")
        line.append("registered_at", registeredAt)
        line.append("tombstoned_at", tombstonedAt)
        line.append("reason", reason)
        line.append("locale", locale)
        line.append("time_zone", timeZone)
        if let badge { line.append("badge", badge) }
        return line.text
    }

    /// One line per fact.
    public var text: String {
        [
            "state: \(isDead ? "dead" : "alive")", "registered at: \(Self.time(registeredAt))",
            "tombstoned at: \(Self.time(tombstonedAt)) (\(reason))", "locale: \(locale)", "time zone: \(timeZone)",
        ].joined(separator: "\n")
    }

    private static func time(_ seconds: UInt32) -> String {
        seconds == 0 ? "never" : UTCTimestamp.text(unixMilliseconds: Int64(seconds) * 1000)
    }
}
