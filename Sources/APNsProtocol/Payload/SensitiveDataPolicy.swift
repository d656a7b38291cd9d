/// The handling of notifications that show a payment card or social-security number. [ours]
public enum SensitiveDataPolicy: String, Sendable, Equatable, CaseIterable {
    /// Such numbers are not looked for.
    case off
    /// The notification is sent, and its outcome has a warning.
    case warn
    /// The notification becomes a dead letter.
    case refuse
}
