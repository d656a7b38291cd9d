import PushSchemas

/// The outcomes this worker gives; `superseded` is for coalescing.
enum OutcomeKind: Sendable, CaseIterable {
    case confirmed
    case presumed
    case unknown
    case rejected
    case tombstoned
    case expired
    case duplicate
    case deadLettered

    /// Whether it is published when only failures are.
    var isFailure: Bool {
        switch self {
        case .confirmed, .presumed, .duplicate: false
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
        case .duplicate: .duplicate
        case .deadLettered: .deadLettered
        }
    }

    /// As in the design and in metrics.
    var name: String {
        switch self {
        case .confirmed: "confirmed"
        case .presumed: "presumed"
        case .unknown: "unknown"
        case .rejected: "rejected"
        case .tombstoned: "tombstoned"
        case .expired: "expired"
        case .duplicate: "duplicate"
        case .deadLettered: "dead_lettered"
        }
    }
}
