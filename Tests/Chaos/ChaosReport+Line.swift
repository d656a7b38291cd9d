import Foundation
import PushSchemas

extension ChaosReport {
    /// One line for programs.
    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let fields = Fields(
            transport: transport.rawValue,
            seed: seed,
            seconds: seconds,
            published: books.published,
            outcomes: books.outcomes,
            outcomeKinds: Dictionary(
                uniqueKeysWithValues: books.kinds.map { (OutcomeKind($0.key)?.name ?? "\($0.key)", $0.value) }
            ),
            lost: lost,
            duplicates: truth.accepted - gatewayDistinct,
            duplicatesExcess: duplicatesExcess,
            resent: resent,
            presumedWrong: presumedWrong,
            orderViolations: truth.orderViolations,
            orderViolationKinds: truth.violations,
            orderExcused: truth.excused,
            orderHandedOver: truth.handedOver,
            orderLate: truth.late,
            maxUnconfirmedBytes: maxUnconfirmedBytes,
            faults: faults,
            accepted: truth.accepted,
            acceptedUnclaimed: books.acceptedUnclaimed,
            repeatedOutcomes: books.repeated,
            replayedRecords: books.replays,
            workersStarted: workersStarted,
            longestOutageSeconds: Self.rounded(longestOutageSeconds),
            longestStandstillSeconds: standstillSeconds.mapValues(Self.rounded),
            registrations: tokens.registrations,
            registrationsLost: tokens.audit.registrationsLost,
            feedbackAcknowledged: tokens.feedback,
            feedbackLost: tokens.audit.feedbackLost,
            standbyTakeoverSeconds: tokens.takeovers.longest.map { Self.rounded($0 / .seconds(1)) }
        )
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    /// To a tenth.
    private static func rounded(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }

    private struct Fields: Encodable {
        let transport: String
        let seed: UInt64
        let seconds: Int
        let published: Int
        let outcomes: Int
        let outcomeKinds: [String: Int]
        let lost: Int
        let duplicates: Int
        let duplicatesExcess: Int
        let resent: Int
        let presumedWrong: Int
        let orderViolations: Int
        let orderViolationKinds: [String: Int]
        let orderExcused: Int
        let orderHandedOver: Int
        let orderLate: Int
        let maxUnconfirmedBytes: Int?
        let faults: [String: Int]
        let accepted: Int
        let acceptedUnclaimed: Int
        let repeatedOutcomes: Int
        let replayedRecords: Int
        let workersStarted: Int
        let longestOutageSeconds: Double
        let longestStandstillSeconds: [String: Double]
        let registrations: Int
        let registrationsLost: Int
        let feedbackAcknowledged: Int
        let feedbackLost: Int
        let standbyTakeoverSeconds: Double?

        enum CodingKeys: String, CodingKey {
            case transport, seed, seconds, published, outcomes, lost, duplicates, resent, faults, accepted
            case registrations
            case duplicatesExcess = "duplicates_excess"
            case acceptedUnclaimed = "accepted_unclaimed"
            case outcomeKinds = "outcome_kinds"
            case presumedWrong = "presumed_wrong"
            case orderViolations = "order_violations"
            case orderExcused = "order_excused"
            case orderHandedOver = "order_handed_over"
            case orderLate = "order_late"
            case orderViolationKinds = "order_violation_kinds"
            case maxUnconfirmedBytes = "max_unconfirmed_bytes"
            case repeatedOutcomes = "repeated_outcomes"
            case replayedRecords = "replayed_records"
            case workersStarted = "workers_started"
            case longestOutageSeconds = "longest_outage_seconds"
            case longestStandstillSeconds = "longest_standstill_seconds"
            case registrationsLost = "registrations_lost"
            case feedbackAcknowledged = "feedback_acknowledged"
            case feedbackLost = "feedback_lost"
            case standbyTakeoverSeconds = "standby_takeover_seconds"
        }
    }
}
