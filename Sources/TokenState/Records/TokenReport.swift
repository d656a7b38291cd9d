import APNsProtocol
import BelfrySupport

/// The state of one token, for people and tools.
public struct TokenReport: Equatable, Sendable {
    public let token: [UInt8]
    /// UNIX seconds; 0: never.
    public let registeredAt: UInt32
    /// UNIX seconds of the device's description: from the registration, or a later report of the app; 0: none.
    public let describedAt: UInt32
    /// UNIX seconds; 0: no tombstone.
    public let tombstonedAt: UInt32
    /// `feedback`, `invalid-token`, `unregistered`, or `none`.
    public let reason: String
    /// Nothing is sent to a dead token.
    public let isDead: Bool
    /// The kinds of topics for which a gateway called the token invalid, and the times, UNIX seconds. Nothing of these
    /// kinds is sent to it.
    let refused: [RefusedKind]
    public let locale: String
    public let timeZone: String
    /// The number on the icon; nil: none is known.
    public let badge: UInt32?

    /// - Parameter badge: as Redis keeps it beside the record; nil: it was not asked for, or there is none.
    init(_ record: TokenRecord, of token: [UInt8], badge: UInt32? = nil) {
        self.token = token
        registeredAt = record.registeredAt
        describedAt = max(record.describedAt, record.registeredAt)
        tombstonedAt = record.tombstonedAt
        reason = record.reason.name
        isDead = record.isDead
        refused = record.refused
        locale = record.texts.locale
        timeZone = record.texts.timeZone
        self.badge = badge ?? record.badge
    }

    /// `alive`, `dead`, or `refused`: dead for some kinds of topics.
    public var state: String { isDead ? "dead" : refused.isEmpty ? "alive" : "refused" }

    /// The token as hexadecimal digits.
    public var hexToken: String { Hex.encode(token) }

    /// One JSON object on one line, without its end. A time that never was is left out.
    public var json: String {
        var line = JSONLine()
        line.append("token", hexToken)
        line.append("state", state)
        let times = [
            ("registered_at", registeredAt), ("described_at", describedAt), ("tombstoned_at", tombstonedAt),
        ]
        for (key, seconds) in times where seconds > 0 { line.append(key, Self.time(seconds)) }
        line.append("reason", reason)
        if !refused.isEmpty {
            var kinds = JSONLine()
            for word in refused { kinds.append(word.kind.name, Self.time(word.at)) }
            line.append("refused", kinds)
        }
        line.append("locale", locale)
        line.append("time_zone", timeZone)
        if let badge { line.append("badge", badge) }
        return line.text
    }

    /// One line per fact.
    public var text: String {
        var lines = [
            "state: \(state)", "registered at: \(Self.time(registeredAt))", "described at: \(Self.time(describedAt))",
            "tombstoned at: \(Self.time(tombstonedAt)) (\(reason))",
        ]
        lines += refused.map { "refused at: \(Self.time($0.at)) (\($0.kind.name))" }
        lines += [
            "locale: \(locale)", "time zone: \(timeZone)", "badge: \(badge.map { "\($0)" } ?? "")",
        ]
        return lines.joined(separator: "\n")
    }

    private static func time(_ seconds: UInt32) -> String {
        seconds == 0 ? "never" : UTCTimestamp.text(unixSeconds: Int64(seconds))
    }
}
