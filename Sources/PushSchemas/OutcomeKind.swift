/// The kinds of outcomes that a worker gives. All that is known of a kind stands in its row.
public enum OutcomeKind: Int, Sendable, CaseIterable {
    case confirmed
    case presumed
    case unknown
    case rejected
    case tombstoned
    case expired
    case superseded
    case duplicate
    case deadLettered
    case aborted

    /// The meaning of an outcome for the request's publisher.
    private enum Meaning {
        /// The gateway has the notification.
        case accepted
        /// It was not needed: another one took, or had taken, its place.
        case spared
        /// The device does not get it, or that is not known.
        case failed
    }

    private var row: (name: String, message: PushOutcomeKind, meaning: Meaning) {
        switch self {
        case .confirmed: ("confirmed", .confirmed, .accepted)
        case .presumed: ("presumed", .presumed, .accepted)
        case .unknown: ("unknown", .unknown, .failed)
        case .rejected: ("rejected", .rejected, .failed)
        case .tombstoned: ("tombstoned", .tombstoned, .failed)
        case .expired: ("expired", .expired, .failed)
        case .superseded: ("superseded", .superseded, .spared)
        case .duplicate: ("duplicate", .duplicate, .spared)
        case .deadLettered: ("dead_lettered", .deadLettered, .failed)
        case .aborted: ("aborted", .aborted, .failed)
        }
    }

    /// The name in metrics, in JSON and in documents.
    public var name: String { row.name }

    /// The kind in push.outcomes.
    public var message: PushOutcomeKind { row.message }

    /// By the worker's word the gateway accepted the notification.
    public var isAcceptance: Bool { row.meaning == .accepted }

    /// The outcome is published even when only failures are.
    public var isFailure: Bool { row.meaning == .failed }

    /// Nil for what no worker of this version gives.
    public init?(_ message: PushOutcomeKind) {
        guard let kind = Self.allCases.first(where: { $0.message == message }) else { return nil }
        self = kind
    }
}
