import APNsProtocol
import PushSchemas

/// A structured notification, checked, and made into payloads: one for each language, and for tokens that have a badge
/// or arguments of their own.
///
/// A payload is `{"aps":{alert,badge,the rest of aps},custom keys}`: all but alert and badge is written once. The same
/// notification always has the same bytes.
package struct NotificationTemplate: Sendable {
    package let languages: LanguageTable
    /// By number of the language; nil: no text.
    private let alerts: [TemplateAlert?]
    /// Nil: the number stays as it is.
    package let badge: BadgeChange?
    /// The members of `aps` behind alert and badge.
    private let rest: JSONMembers
    private let custom: JSONMembers
    private let shortens: Bool
    /// The device makes a sound.
    private let sounds: Bool
    private let wakesApp: Bool
    private let isLiveActivity: Bool

    /// Checks a notification.
    ///
    /// - Throws: the first fault.
    package init(_ notification: PushNotification) throws(NotificationFault) {
        var languages = LanguageTable()
        var alerts = [try Self.defaultAlert(of: notification)]
        guard notification.localizations.count <= LanguageTable.limit else {
            throw NotificationFault(
                "localizations",
                "has \(notification.localizations.count) languages; \(LanguageTable.limit) are allowed"
            )
        }
        for (tag, alert) in notification.localizations.sorted(by: { $0.key < $1.key })
        where !LanguageTable.isDefault(tag) {
            guard LanguageTable.isTag(tag) else {
                throw NotificationFault("localizations", "has a key that is no BCP 47 tag, such as \"pt-BR\"")
            }
            guard languages.insert(tag, number: alerts.count) else {
                throw NotificationFault("localizations", "has \"\(tag)\" twice: case does not matter")
            }
            alerts.append(alert)
        }
        for (number, alert) in alerts.enumerated() {
            let path = number == 0 ? "alert" : "localizations"
            if let alert, alert.withoutAction, !alert.actionLocKey.isEmpty {
                throw NotificationFault("\(path).without_action", "is set beside 'action_loc_key'; one is allowed")
            }
        }
        self.languages = languages
        self.alerts = alerts.map { $0.map { TemplateAlert($0, shortens: notification.shorten) } }
        badge = try Self.badge(of: notification)
        rest = try Self.rest(of: notification)
        custom = try Self.custom(of: notification)
        shortens = notification.shorten
        sounds = notification.hasSound
        wakesApp = notification.contentAvailable
        isLiveActivity = notification.hasLiveActivity
        guard languages.isEmpty || wakesApp || isLiveActivity || mayBeNoticed(language: 0) else {
            throw NotificationFault(
                "alert",
                "is not set beside 'localizations', so devices of all other languages would get nothing; "
                    + "set it, or the localization \"default\""
            )
        }
    }

    /// The text of devices without a language of their own: `alert`, or the localization of that name.
    private static func defaultAlert(of notification: PushNotification) throws(NotificationFault) -> PushAlert? {
        let named = notification.localizations.filter { LanguageTable.isDefault($0.key) }
        guard let alert = named.first?.value else { return notification.hasAlert ? notification.alert : nil }
        guard named.count == 1, !notification.hasAlert else {
            throw NotificationFault("localizations", "has \"default\" beside 'alert' or twice; one of them is allowed")
        }
        return alert
    }

    private static func badge(of notification: PushNotification) throws(NotificationFault) -> BadgeChange? {
        guard notification.hasBadge else { return nil }
        switch notification.badge.change {
        case .set(let number): return .set(number)
        case .add(let summand): return .add(summand)
        case .clear(true): return .set(0)
        case .clear(false): throw NotificationFault("badge.clear", "is false; true is allowed")
        case nil: throw NotificationFault("badge", "has no change: one of 'set', 'add' and 'clear' is required")
        }
    }

    /// The number that all tokens get; nil: none, or one of each token's own.
    private var commonNumber: UInt32? {
        guard case .set(let number) = badge else { return nil }
        return number
    }

    // MARK: Priority

    /// The priority that a request's becomes.
    package struct FittedPriority: Equatable {
        /// Nil: not said.
        package var priority: UInt8?
        /// A sentence for the publisher; empty: the priority stays as it was said.
        package var warning = ""

        package init(priority: UInt8?, warning: String = "") {
            self.priority = priority
            self.warning = warning
        }
    }

    /// Judges the priority of a request by all its payloads.
    ///
    /// - Parameters:
    ///   - priority: of the request; nil: not said.
    ///   - overridesBadge: some tokens have a badge of their own.
    /// - Throws: the request says 10, and no device would notice anything or even wake the app.
    package func check(_ priority: UInt8?, overridesBadge: Bool) throws(NotificationFault) {
        guard priority == 10, !overridesBadge, !wakesApp, !isLiveActivity,
            !languageNumbers.contains(where: { mayBeNoticed(language: $0) })
        else { return }
        throw NotificationFault("alert", "is not set, nor a badge or a sound; one is required where 'priority' is 10")
    }

    /// Fits the priority to what a device notices of one payload: 10 requires an alert, a badge or a sound [13].
    ///
    /// The number that ``badge`` adds to counts if it is there, among the token's own values.
    ///
    /// - Parameters:
    ///   - priority: of the request; nil: not said.
    ///   - language: of ``languageNumbers``.
    ///   - overrides: the token's own values.
    package func fitted(
        _ priority: UInt8?,
        language: Int = 0,
        overrides: TokenOverrides = TokenOverrides()
    ) -> FittedPriority {
        let isNoticed = isNoticed(language: language, number: overrides.badge ?? commonNumber)
        guard !isNoticed, !isLiveActivity, priority == nil || priority == 10 else {
            return FittedPriority(priority: priority)
        }
        guard priority == 10 else { return FittedPriority(priority: 5) }
        let effect = wakesApp ? ", and only wakes the app" : ""
        return FittedPriority(
            priority: 5,
            warning: "priority 10 became 5: the notification has no alert, badge or sound\(effect)"
        )
    }

    /// A device of the language shows, sounds or badges something, whatever its token's own values, as long as tokens
    /// have numbers to add to.
    private func mayBeNoticed(language: Int) -> Bool {
        badge != nil || isNoticed(language: language, number: nil)
    }

    private func isNoticed(language: Int, number: UInt32?) -> Bool {
        sounds || number != nil || hasAlert(language: language)
    }

    private func hasAlert(language: Int, arguments: [String] = []) -> Bool {
        alerts[language].map { !$0.isEmpty(arguments: arguments) } ?? false
    }

    /// The push type of a payload, as `PushType(inferredFrom:)` reads it of its bytes.
    package func pushType(language: Int = 0, overrides: TokenOverrides = TokenOverrides()) -> PushType {
        // One with an event: without it there is none.
        if isLiveActivity { return .liveactivity }
        let disturbs =
            sounds || (overrides.badge ?? commonNumber) != nil
            || hasAlert(language: language, arguments: overrides.locArgs)
        return wakesApp && !disturbs ? .background : .alert
    }

    // MARK: Payloads

    /// The numbers of the languages; 0 is the default.
    package var languageNumbers: Range<Int> { 0..<alerts.count }

    /// Makes the payload for a language.
    ///
    /// - Parameters:
    ///   - language: of ``languageNumbers``.
    ///   - overrides: the token's own values, the number that ``badge`` adds to among them. Without that number the
    ///     payload has none.
    ///   - limitBytes: the longest payload.
    /// - Returns: JSON in UTF-8 without white space that ``PayloadScanner`` accepts.
    /// - Throws: the payload does not fit, even shortened if that is asked for.
    package func payload(
        language: Int = 0,
        overrides: TokenOverrides = TokenOverrides(),
        limitBytes: Int
    ) throws(NotificationFault) -> [UInt8] {
        let badge = overrides.badge ?? commonNumber
        let arguments = overrides.locArgs
        let alert = alerts[language]
        // Without a body it is put together once: all of it is needed for its length.
        let bodiless =
            arguments.isEmpty || alert?.body != nil
            ? nil : alert?.members(arguments: arguments, body: [], hasEllipsis: false)
        // Else nothing is put together that does not fit: a body may have as many bytes as a record.
        let bytes = self.bytes(alert: bodiless?.bytes.count ?? alert?.bytes(arguments: arguments) ?? 0, badge)
        guard bytes > limitBytes else {
            let whole = alert?.body?.bytes[...] ?? []
            let members = bodiless ?? alert?.members(arguments: arguments, body: whole, hasEllipsis: false)
            return assemble(members, badge)
        }
        guard shortens, let alert, let body = alert.body else {
            let cure = shortens ? ", and there is no body that could be cut" : "; with 'shorten' the body would be cut"
            throw tooLong(bytes, limitBytes, cure)
        }
        guard let beginning = body.beginning(bytes: body.bytes.count - (bytes - limitBytes)) else {
            throw tooLong(bytes, limitBytes, ", and even without its body it is too long")
        }
        return assemble(alert.members(arguments: arguments, body: beginning, hasEllipsis: true), badge)
    }

    private func tooLong(_ bytes: Int, _ limitBytes: Int, _ cure: String) -> NotificationFault {
        NotificationFault(
            shortens ? "shorten" : "alert",
            "leads to a payload of \(bytes) bytes; \(limitBytes) are allowed\(cure)",
            isTooLong: true
        )
    }

    /// Bytes of a payload.
    private func bytes(alert: Int, _ badge: UInt32?) -> Int {
        let aps = [alert, Self.badgeMember(badge).bytes.count, rest.bytes.count].filter { $0 > 0 }
        let members = aps.reduce(0, +) + max(0, aps.count - 1)
        return Self.bytesAroundMembers + members + (custom.isEmpty ? 0 : 1 + custom.bytes.count)
    }

    /// `{"aps":{}}`.
    private static let bytesAroundMembers = 10

    private static func badgeMember(_ badge: UInt32?) -> JSONMembers {
        var members = JSONMembers()
        members.append("badge", badge.map(Int64.init))
        return members
    }

    private func assemble(_ alert: JSONMembers?, _ badge: UInt32?) -> [UInt8] {
        var aps = alert ?? JSONMembers()
        aps.append(Self.badgeMember(badge))
        aps.append(rest)
        var text = JSONText(bytes: aps.bytes.count + custom.bytes.count + 16)
        text.append(raw: "{\"aps\":{")
        text.append(json: aps.bytes)
        text.append(raw: "}")
        if !custom.isEmpty { text.append(raw: ",") }
        text.append(json: custom.bytes)
        text.append(raw: "}")
        return text.bytes
    }
}
