/// The outcomes of a request that its publisher wants to have. The raw value is the number in the schema.
public enum RequestReport: UInt32, Sendable, CaseIterable {
    /// The outcome of every token.
    case all = 1
    /// The outcomes of tokens whose device does not get the notification, or for which that is not known.
    case failures = 2
    /// One outcome for the record, with the numbers of its tokens.
    case summary = 3

    /// The report in a request.
    public var message: PushReport {
        switch self {
        case .all: .all
        case .failures: .failures
        case .summary: .summary
        }
    }

    /// The name in options.
    public var name: String { "\(self)" }
}
