import PushSchemas

/// The outcomes that this worker gives.
enum OutcomeKind: Sendable, CaseIterable {
    case confirmed
    case presumed
    case unknown
    case rejected
    case tombstoned
    case expired
    case superseded
    case duplicate
    case deadLettered

    /// The outcome is published even when only failures are.
    var isFailure: Bool {
        switch self {
        case .confirmed, .presumed, .superseded, .duplicate: false
        case .unknown, .rejected, .tombstoned, .expired, .deadLettered: true
        }
    }

    var message: PushOutcomeKind {
        switch self {
        case .confirmed: .confirmed
        case .presumed: .presumed
        case .unknown: .unknown
        case .rejected: .rejected
        case .tombstoned: .tombstoned
        case .expired: .expired
        case .superseded: .superseded
        case .duplicate: .duplicate
        case .deadLettered: .deadLettered
        }
    }

    /// The outcome's name in the design and in metrics.
    var name: String {
        switch self {
        case .confirmed: "confirmed"
        case .presumed: "presumed"
        case .unknown: "unknown"
        case .rejected: "rejected"
        case .tombstoned: "tombstoned"
        case .expired: "expired"
        case .superseded: "superseded"
        case .duplicate: "duplicate"
        case .deadLettered: "dead_lettered"
        }
    }
}
