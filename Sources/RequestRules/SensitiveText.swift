import APNsProtocol
import PushSchemas

/// The place of the first payment card or social-security number in the texts that the device shows.
///
/// Says where and of which kind the number is, and never has the number itself. A text is judged as it is published,
/// before it is shortened; `custom` keys and the content of Live Activities are the app's own and are not looked at.
package struct SensitiveText: Sendable, Equatable, CustomStringConvertible {
    /// Made of fixed names and language tags.
    package let path: String
    package let number: SensitiveNumbers.Finding

    package var description: String { "'\(path)' has a \(number.kind.rawValue) at byte \(number.offset)" }

    /// Looks into a text; nil: it has no such number.
    ///
    /// - Parameter path: asked for if it has one.
    private init?(_ text: String, _ path: @autoclosure () -> String) {
        guard let number = SensitiveNumbers.first(in: text) else { return nil }
        self.path = path()
        self.number = number
    }

    /// Looks into a payload, or into the structured notification from which payloads are made.
    ///
    /// - Parameter payload: of a request that has one: accepted by `PayloadScanner`, stripped or not.
    package init?(in request: SendRequestView, payload: UnsafeRawBufferPointer) {
        let found = request.notification.map(Self.first) ?? Self.first(in: payload)
        guard let found else { return nil }
        self = found
    }

    /// Looks into a token's own arguments.
    package init?(in token: TokenView) {
        guard let arguments = token.overrides?.locArgs, let found = Self.first(in: arguments, "loc_args") else {
            return nil
        }
        self = found
    }

    private static func first(in payload: UnsafeRawBufferPointer) -> SensitiveText? {
        // Each digit, escaped or not, stands in the payload with at least one digit of ASCII.
        guard payload.hasDigits(SensitiveNumbers.fewestDigits) else { return nil }
        var found: SensitiveText?
        AlertText.forEach(in: payload) { text in
            found = found ?? SensitiveText(text.text, "payload.\(text.path)")
        }
        return found
    }

    private static func first(in notification: PushNotification) -> SensitiveText? {
        if let found = first(in: notification.alert, "notification.alert") { return found }
        // In an order of their own, so that publisher and worker name the same.
        for (tag, alert) in notification.localizations.sorted(by: { $0.key < $1.key }) {
            // A tag is the publisher's word, and may be such a number itself.
            let name = SensitiveNumbers.first(in: tag) == nil ? ".\(tag)" : ""
            if let found = first(in: alert, "notification.localizations\(name)") { return found }
        }
        return nil
    }

    private static func first(in alert: PushAlert, _ path: String) -> SensitiveText? {
        SensitiveText(alert.title, "\(path).title")
            ?? SensitiveText(alert.subtitle, "\(path).subtitle")
            ?? SensitiveText(alert.body, "\(path).body")
            ?? first(in: alert.locArgs, "\(path).loc_args")
            ?? first(in: alert.titleLocArgs, "\(path).title_loc_args")
            ?? first(in: alert.subtitleLocArgs, "\(path).subtitle_loc_args")
            ?? SensitiveText(alert.summaryArg, "\(path).summary_arg")
    }

    private static func first(in texts: [String], _ path: @autoclosure () -> String) -> SensitiveText? {
        for (index, text) in texts.enumerated() {
            if let found = SensitiveText(text, "\(path())[\(index)]") { return found }
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// At least so many of the bytes are digits of ASCII.
    fileprivate func hasDigits(_ fewest: Int) -> Bool {
        var count = 0
        for byte in self where byte &- UInt8(ascii: "0") < 10 {
            count += 1
            if count == fewest { return true }
        }
        return false
    }
}

extension SensitiveDataPolicy {
    /// Judges the texts that all tokens of a request share. To be called when its payloads are judged.
    ///
    /// - Parameter payload: of a request that has one: accepted by `PayloadScanner`.
    /// - Returns: the finding that is to be warned of; nil: there is none.
    /// - Throws: `sensitive-data`.
    package func judge(
        _ request: SendRequestView,
        payload: UnsafeRawBufferPointer
    ) throws(RecordRefusal) -> SensitiveText? {
        guard self != .off, let found = SensitiveText(in: request, payload: payload) else { return nil }
        guard self == .warn else { throw RecordRefusal(found) }
        return found
    }

    /// The fault of a token whose own texts are refused; nil: there is none.
    package func fault(of token: TokenView) -> RecordRefusal? {
        self == .refuse ? SensitiveText(in: token).map(RecordRefusal.init) : nil
    }

    /// The finding in a token's own texts that is to be warned of; nil: there is none.
    package func warning(of token: TokenView) -> SensitiveText? {
        self == .warn ? SensitiveText(in: token) : nil
    }
}

extension RecordRefusal {
    fileprivate init(_ found: SensitiveText) {
        self.init(reason: "sensitive-data", detail: "\(found), and 'sensitive-data' is 'refuse'")
    }
}
