import Foundation
import LocalPipeline
import PushSchemas
import Workbench

extension ChaosReport {
    /// The fields of ``line()`` for the help.
    static let fields = HelpTable(
        "Fields of the last line, with what is judged",
        """
        transport, seed, seconds: As they were asked for.
        published, outcomes: Notifications in the log, and different ones with an outcome: equal.
        outcome_kinds: By kind. Over HTTP/2 none is presumed or unknown.
        lost: Without an outcome, or confirmed and never accepted: 0.
        lanes: Of each lane of requests, published and lost: above 0, unless --no-lanes, or --soak without --lanes; \
        0. What a worker moved out of urgent counts there.
        moved: Records that workers moved out of urgent, over the quota of their app, each once: above 0 if ten or \
        more have more tokens than that quota. Of those at most ten stay, or half of them, unless a worker says that \
        it cannot move some. None of an app without a quota, and each of something published.
        accepted, duplicates: By the gateways; of these, those that were accepted before.
        duplicates_excess: Repetitions that nothing allows, see Tests/Chaos/README.md: 0. The third kind is not judged \
        if something was presumed wrongly and that may be; of copies it is.
        resent, presumed_wrong: As the workers count; presumed and not accepted: 0 without --withhold and --busy, over \
        HTTP/2 always.
        order_violations, order_violation_kinds: overtaken, cut-short, hole, stale-last; late: those of order_late \
        that are too many: 0.
        order_handed_over: Notifications that seem left out because two owners of a partition were accepted side by \
        side, which was the broker's doing, see Tests/Chaos/README.md.
        order_excused, order_late: Resends that left out only what had another outcome meanwhile, or was stored as \
        done, and urgent ones that were to be moved and were sent by another worker, or could not be moved; \
        acceptances behind newer ones that can be the gateway's doing: as many as it was made to refuse for good.
        accepted_unclaimed: Accepted, though the outcome says otherwise.
        repeated_outcomes, replayed_records: Outcomes of what had one; records that stand in the log twice.
        max_unconfirmed_bytes: Most that a worker was seen to have in flight, in bytes of the largest frame.
        registrations, registrations_lost: Acknowledged by the broker, of two bundles of their own: at least one. Of \
        these, not in Redis in the end, neither there nor outweighed by something newer: 0.
        feedback_acknowledged, feedback_lost: Tuples of these bundles that stood in push.feedback: at least one. Of \
        these, not in Redis in the end: 0.
        standby_takeover_seconds: Longest standstill of a partition after a registrar or harvester was killed or told \
        to stop, until another process has committed; not there if none was. Time counts while records wait, and while \
        broker and Redis are there and have been for a while (12 s; 5 s). 16 after SIGKILL (session + 10), 15 after \
        SIGTERM; from --seconds 120 on one of each must have been seen to its end, of a process that had the \
        partition.
        faults, workers_started, longest_outage_seconds: What was done to the pipeline.
        longest_standstill_seconds: By worker, the longest time for which it did nothing: made to stand still, or an \
        event loop that came late, as exactly as its metrics tell once a second.
        """
    )

    /// The names of all fields of ``line()``.
    static var fieldNames: [String] { Fields.CodingKeys.allCases.map(\.rawValue) }

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
            lanes: Dictionary(
                uniqueKeysWithValues: RequestLane.allCases.map { lane in
                    let published = books.publishedByLane[lane] ?? 0
                    return (lane.rawValue, Lane(published: published, lost: books.lost(in: lane)))
                }
            ),
            moved: books.moves.count,
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

    private struct Lane: Encodable {
        let published: Int
        let lost: Int
    }

    private struct Fields: Encodable {
        let transport: String
        let seed: UInt64
        let seconds: Int
        let published: Int
        let outcomes: Int
        let outcomeKinds: [String: Int]
        let lost: Int
        let lanes: [String: Lane]
        let moved: Int
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

        enum CodingKeys: String, CodingKey, CaseIterable {
            case transport, seed, seconds, published, outcomes, lost, lanes, moved, duplicates, resent, faults, accepted
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
