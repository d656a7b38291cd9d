/// A structured notification that cannot be made into a payload.
package struct NotificationFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The field, as a path from the request, such as `notification.sound.volume`.
    package let path: String
    /// The finding and the allowed values, for a person to read. Holds no text of the notification.
    package let finding: String
    /// The payload has more bytes than its limit, and nothing else is wrong.
    package let isTooLong: Bool

    init(_ path: String, _ finding: String, isTooLong: Bool = false) {
        self.path = "notification." + path
        self.finding = finding
        self.isTooLong = isTooLong
    }

    package var description: String { "'\(path)' \(finding)" }
}
