import LocalPipeline
import Workbench

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

    /// The changes for the help.
    static let changes = HelpTable(
        "Changes of --scaling",
        """
        none: One worker, to compare.
        grow: From one worker to four at once.
        shrink: To two, each by SIGTERM.
        roll: Each of the two workers, registrars and harvesters is stopped by SIGTERM, one of each role at a time, \
        and another one takes its place.
        cordon: A node goes, with a process of each role: SIGTERM, and SIGKILL 20 ms later to those that are not done; \
        others take their places.
        """
    )

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of the line of --scaling, with their bounds",
        """
        scenario, transport, rate, passed, missed: What was measured, and the judgement.
        lost, order_violations: Of all steps: 0, 0.
        steps, steps[].change, steps[].workers, steps[].killed: Each change; workers after it; processes that SIGKILL \
        ended.
        steps[].seconds: From its beginning until something newer of every partition was accepted and nothing had \
        piled up: seen.
        steps[].p50_ms, steps[].p99_ms, steps[].longest_ms: Of the notifications published meanwhile, from the call \
        that published them to the gateway's acceptance. The embedded broker shares partitions out a second or more \
        after it has taken them back: that is what they wait for.
        steps[].duplicates: Acceptances beyond the first: 0 in none, with one shard. The embedded broker, unlike \
        Kafka, takes no commits while a group rebalances: the next owner sends again what was settled meanwhile, and \
        several rebalances in a row repeat it.
        registrations, registrations_lost: Registrations that the broker acknowledged, and those that Redis does not \
        have in the end: above 0; 0.
        feedback, feedback_lost: Tuples in push.feedback, and those that Redis does not have in the end: above 0; 0.
        feedback_unpublished: Tuples that were read of the service's lists and are not in push.feedback: a harvester \
        that was killed held them.
        strange_tokens: Tokens in a state that does not follow from what was said of them: 0.
        """
    )

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
        // No worker comes or goes. Several shards may still be sharing out, see `--shards`.
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
