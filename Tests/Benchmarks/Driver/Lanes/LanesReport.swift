import LocalPipeline
import Workbench

/// The result of one transport.
struct LanesReport: Sendable {
    /// The numbers that a run has to keep.
    enum Targets {
        static let p50Milliseconds = 50.0
        static let p99Milliseconds = 250.0
        static let takeoverSeconds = 10.0
        static let bulkRatio = 0.95
        static let bulkShare = 0.1
    }

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, transport, backlog, partitions, answer_delay_ms: What was measured; the sandbox's answers are late \
        by so much.
        passed, missed, targets: The judgement, the fields that missed their targets, and these.
        urgent_p50_ms, urgent_p99_ms: From the call that published an urgent notification until the sandbox had \
        accepted it, while a backlog of the same app waits in bulk; when it answers is not in it. Seen by questions, \
        so up to 10 ms too long: 50; 250.
        urgent_probes, urgent_rate: Notifications of which the time was taken; urgent ones a second beside the backlog.
        urgent_takeover_seconds: From kill -9 of one of the two workers until an urgent notification of each of its \
        partitions that was published after that was accepted; not there if one never was: 10.
        bulk_ratio: The rate of bulk with urgent notifications beside it as a share of the rate without, in \
        neighbouring slices of the same backlog; the median of all backlogs': 0.95.
        bulk_rate_alone, bulk_rate: Notifications a second of bulk in the slices without and with urgent ones beside \
        them.
        bulk_share: Of what is accepted while urgent and bulk both have a backlog, bulk's share: 0.1.
        flood_rate: Notifications a second of both lanes meanwhile.
        lost: Notifications that the broker acknowledged and the sandbox never accepted: 0.
        duplicates: Acceptances beyond the first. No target: a worker is killed.
        """
    )

    var transport: PipelineTransport
    /// Notifications in bulk.
    var backlog: Int
    var partitions: Int
    var answerDelayMilliseconds: Int
    /// Nil: nothing was measured.
    var p50Milliseconds: Double?
    var p99Milliseconds: Double?
    var probes = 0
    /// Notifications a second.
    var urgentRate = 0.0
    /// Nil: a partition was not taken over.
    var takeoverSeconds: Double?
    var bulkRateAlone = Samples()
    var bulkRate = Samples()
    var bulkRatios = Samples()
    var bulkShare: Double?
    var floodRate = 0.0
    var lost = 0
    var duplicates = 0

    /// The names of the fields that are not good enough. One that is not there is none of the good ones.
    var missed: [String] {
        let targets: [(isMet: Bool, name: String)] = [
            (p50Milliseconds.map { $0 <= Targets.p50Milliseconds } ?? false, "urgent_p50_ms"),
            (p99Milliseconds.map { $0 <= Targets.p99Milliseconds } ?? false, "urgent_p99_ms"),
            (takeoverSeconds.map { $0 <= Targets.takeoverSeconds } ?? false, "urgent_takeover_seconds"),
            (bulkRatios.median >= Targets.bulkRatio, "bulk_ratio"),
            (bulkShare.map { $0 >= Targets.bulkShare } ?? false, "bulk_share"),
            (lost == 0, "lost"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// One line for programs.
    func line() throws -> String {
        var line = ResultLine(scenario: "lanes")
        line.judge(missed: missed)
        line.add("targets", Self.targets)
        line.add("transport", transport.rawValue)
        line.add("backlog", backlog)
        line.add("partitions", partitions)
        line.add("answer_delay_ms", answerDelayMilliseconds)
        line.add("urgent_p50_ms", p50Milliseconds, digits: 1)
        line.add("urgent_p99_ms", p99Milliseconds, digits: 1)
        line.add("urgent_probes", probes)
        line.add("urgent_rate", urgentRate, digits: 0)
        line.add("urgent_takeover_seconds", takeoverSeconds, digits: 1)
        line.add("bulk_ratio", bulkRatios.median, digits: 3)
        line.add("bulk_rate_alone", bulkRateAlone, digits: 0)
        line.add("bulk_rate", bulkRate, digits: 0)
        line.add("bulk_share", bulkShare, digits: 3)
        line.add("flood_rate", floodRate, digits: 0)
        line.add("lost", lost)
        line.add("duplicates", duplicates)
        return try line.text()
    }

    private static var targets: ResultLine {
        var targets = ResultLine()
        targets.add("urgent_p50_ms", Targets.p50Milliseconds, digits: 0)
        targets.add("urgent_p99_ms", Targets.p99Milliseconds, digits: 0)
        targets.add("urgent_takeover_seconds", Targets.takeoverSeconds, digits: 0)
        targets.add("bulk_ratio", Targets.bulkRatio, digits: 2)
        targets.add("bulk_share", Targets.bulkShare, digits: 2)
        targets.add("lost", 0)
        return targets
    }
}
