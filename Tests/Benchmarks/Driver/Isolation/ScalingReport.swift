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
        var line = ResultLine(scenario: "scaling")
        line.judge(missed: missed)
        line.add("transport", transport.rawValue)
        line.add("rate", rate)
        line.add("lost", lost)
        line.add("order_violations", disordered)
        line.add("registrations", tokens.registrations)
        line.add("registrations_lost", tokens.registrationsLost)
        line.add("feedback", tokens.feedback)
        line.add("feedback_lost", tokens.feedbackLost)
        line.add("feedback_unpublished", tokens.feedbackUnpublished)
        line.add("strange_tokens", tokens.strangeTokens)
        line.add("steps", steps.map(Self.stepLine))
        return try line.text()
    }

    private static func stepLine(_ step: Step) -> ResultLine {
        var line = ResultLine()
        line.add("change", step.change.rawValue)
        line.add("workers", step.workers)
        line.add("killed", step.killed)
        line.add("seconds", step.seconds, digits: 1)
        line.add("p50_ms", step.p50Milliseconds, digits: 1)
        line.add("p99_ms", step.p99Milliseconds, digits: 1)
        line.add("longest_ms", step.longestMilliseconds, digits: 1)
        line.add("duplicates", step.duplicates)
        return line
    }
}
