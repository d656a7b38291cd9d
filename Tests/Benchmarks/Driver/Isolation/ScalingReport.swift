import Foundation
import LocalPipeline

/// The result of processes that came and went.
struct ScalingReport: Sendable {
    /// One change of the roles.
    struct Step: Equatable, Sendable {
        var change: WorkerChange
        /// Workers after it.
        var workers: Int
        /// Processes that had not ended when their grace was over.
        var killed: Int
        /// From the beginning of the change until something newer of every partition was accepted and nothing had piled
        /// up; nil: that was not seen.
        var seconds: Double?
        /// Of the notifications published meanwhile.
        var p50Milliseconds: Double?
        var p99Milliseconds: Double?
        var longestMilliseconds: Double?
        /// Acceptances beyond the first.
        var duplicates: Int
    }

    let transport: PipelineTransport
    /// Of each worker.
    let shards: Int
    /// Notifications a second that were offered.
    let rate: Int
    let steps: [Step]
    /// Notifications that were not accepted.
    let lost: Int
    let disordered: Int
    let tokens: TokenFlow.Result

    /// The names of the numbers that are not good enough.
    var missed: [String] {
        var missed: [String] = []
        if lost > 0 { missed.append("lost") }
        if disordered > 0 { missed.append("order_violations") }
        // Nobody comes or goes. Several shards may still be sharing out, see `--shards`.
        if shards == 1, steps.contains(where: { $0.change == .none && $0.duplicates > 0 }) {
            missed.append("none: duplicates")
        }
        // Without any of them nothing is proven.
        if tokens.registrations == 0 { missed.append("registrations") }
        if tokens.registrationsLost > 0 { missed.append("registrations_lost") }
        if tokens.feedback == 0 { missed.append("feedback") }
        if tokens.feedbackLost > 0 { missed.append("feedback_lost") }
        if tokens.strangeTokens > 0 { missed.append("strange_tokens") }
        return missed + steps.filter { $0.seconds == nil }.map { "\($0.change.rawValue): seconds" }
    }

    /// One line for programs.
    func line() throws -> String {
        try IsolationReport.encode(
            Fields(
                scenario: "scaling",
                transport: transport.rawValue,
                passed: missed.isEmpty,
                missed: missed,
                rate: rate,
                lost: lost,
                orderViolations: disordered,
                registrations: tokens.registrations,
                registrationsLost: tokens.registrationsLost,
                feedback: tokens.feedback,
                feedbackLost: tokens.feedbackLost,
                feedbackUnpublished: tokens.feedbackUnpublished,
                strangeTokens: tokens.strangeTokens,
                steps: steps.map(StepFields.init)
            )
        )
    }

    private struct Fields: Encodable {
        let scenario: String
        let transport: String
        let passed: Bool
        let missed: [String]
        let rate: Int
        let lost: Int
        let orderViolations: Int
        let registrations: Int
        let registrationsLost: Int
        let feedback: Int
        let feedbackLost: Int
        let feedbackUnpublished: Int
        let strangeTokens: Int
        let steps: [StepFields]

        enum CodingKeys: String, CodingKey {
            case scenario, transport, passed, missed, rate, lost, steps, registrations, feedback
            case orderViolations = "order_violations"
            case registrationsLost = "registrations_lost"
            case feedbackLost = "feedback_lost"
            case feedbackUnpublished = "feedback_unpublished"
            case strangeTokens = "strange_tokens"
        }
    }

    private struct StepFields: Encodable {
        let change: String
        let workers: Int
        let killed: Int
        let seconds: Decimal?
        let p50: Decimal?
        let p99: Decimal?
        let longest: Decimal?
        let duplicates: Int

        init(_ step: Step) {
            change = step.change.rawValue
            workers = step.workers
            killed = step.killed
            seconds = step.seconds.map { IsolationReport.rounded($0, 1) }
            p50 = step.p50Milliseconds.map { IsolationReport.rounded($0, 1) }
            p99 = step.p99Milliseconds.map { IsolationReport.rounded($0, 1) }
            longest = step.longestMilliseconds.map { IsolationReport.rounded($0, 1) }
            duplicates = step.duplicates
        }

        enum CodingKeys: String, CodingKey {
            case change, workers, killed, seconds, duplicates
            case p50 = "p50_ms"
            case p99 = "p99_ms"
            case longest = "longest_ms"
        }
    }
}
