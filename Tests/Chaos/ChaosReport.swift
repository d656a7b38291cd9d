import Foundation
import PushSchemas

/// The result of a run, and the judgement.
struct ChaosReport {
    var seed: UInt64
    var seconds: Int
    var books: ChaosBooks
    var truth: TruthAudit
    /// Different ones, as the sandbox counts them.
    var gatewayDistinct: Int
    /// As workers count: see ``WorkerFleet/sum(of:metric:)``.
    var resent: Int
    var presumedWrongCounted: Int
    /// The most notifications that a worker was seen to have in flight, at one look a second, times the largest frame.
    var maxUnconfirmedBytes: Int?
    /// Disturbances of the pipeline, and the number of each.
    var faults: [String: Int]
    var workersStarted: Int
    var longestOutageSeconds: Double
    /// Something may have kept a gateway from reading or answering for longer than the window: what was presumed may be
    /// wrong.
    var mayPresumeWrongly: Bool
    /// Other problems of the run.
    var complaints: [String]

    /// Without an outcome, or claimed as proven and never accepted.
    var lost: Int { max(0, books.missing) + books.confirmedWrongly }

    /// Presumed and never accepted, or found out by the worker when an answer came late.
    var presumedWrong: Int { presumedWrongCounted + books.presumedWrongly }

    var passes: Bool {
        lost == 0 && truth.orderViolations == 0 && books.published == books.outcomes && truth.excess == 0
            && (mayPresumeWrongly || presumedWrong == 0) && complaints.isEmpty
    }

    /// One line for programs.
    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let fields = Fields(
            seed: seed,
            seconds: seconds,
            published: books.published,
            outcomes: books.outcomes,
            outcomeKinds: Dictionary(uniqueKeysWithValues: books.kinds.map { ("\($0.key)", $0.value) }),
            lost: lost,
            duplicates: truth.accepted - gatewayDistinct,
            duplicatesExcess: truth.excess,
            resent: resent,
            presumedWrong: presumedWrong,
            orderViolations: truth.orderViolations,
            orderViolationKinds: truth.violations,
            orderExcused: truth.excused,
            orderLate: truth.late,
            maxUnconfirmedBytes: maxUnconfirmedBytes,
            faults: faults,
            accepted: truth.accepted,
            acceptedUnclaimed: books.acceptedUnclaimed,
            repeatedOutcomes: books.repeated,
            replayedRecords: books.replays,
            workersStarted: workersStarted,
            longestOutageSeconds: (longestOutageSeconds * 10).rounded() / 10
        )
        return String(decoding: try encoder.encode(fields), as: UTF8.self)
    }

    private struct Fields: Encodable {
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
        let orderLate: Int
        let maxUnconfirmedBytes: Int?
        let faults: [String: Int]
        let accepted: Int
        let acceptedUnclaimed: Int
        let repeatedOutcomes: Int
        let replayedRecords: Int
        let workersStarted: Int
        let longestOutageSeconds: Double

        enum CodingKeys: String, CodingKey {
            case seed, seconds, published, outcomes, lost, duplicates, resent, faults, accepted
            case duplicatesExcess = "duplicates_excess"
            case acceptedUnclaimed = "accepted_unclaimed"
            case outcomeKinds = "outcome_kinds"
            case presumedWrong = "presumed_wrong"
            case orderViolations = "order_violations"
            case orderExcused = "order_excused"
            case orderLate = "order_late"
            case orderViolationKinds = "order_violation_kinds"
            case maxUnconfirmedBytes = "max_unconfirmed_bytes"
            case repeatedOutcomes = "repeated_outcomes"
            case replayedRecords = "replayed_records"
            case workersStarted = "workers_started"
            case longestOutageSeconds = "longest_outage_seconds"
        }
    }
}
