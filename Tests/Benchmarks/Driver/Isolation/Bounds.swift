/// The numbers that a scenario has to keep.
enum Bounds {
    static let rateRatio = 0.95
    /// A 99th percentile up to this is good however short it is without the sick topic.
    static let p99Milliseconds = 50.0
    static let p99Factor = 2.0
    /// Beyond the session's time-out.
    static let takeoverSeconds = 5.0
    static let deadLetterBytesRatio = 2.0
    static let returnRatio = 0.7
    /// Multiple of its queue that the sick topic is offered.
    static let queues = 10
    /// Notifications a second of the sick topic, at least.
    static let sickRate = 20_000

    /// The names of the numbers that are not good enough, in the order of this function.
    static func missed(by report: IsolationReport) -> [String] {
        var missed: [String] = []
        func check(_ isKept: Bool, _ name: String) {
            if !isKept { missed.append(name) }
        }
        check(report.lost == 0, "lost")
        check(report.takeoverSeconds <= Double(report.sessionSeconds) + takeoverSeconds, "takeover_seconds")
        // Else the second half measured the take-over, too.
        check(report.catchUpSeconds != nil, "catch_up_seconds")
        if let ratio = report.rateRatio { check(ratio >= rateRatio, "rate_ratio") }
        if let alone = report.p99AloneMilliseconds {
            let bound = max(p99Factor * alone, p99Milliseconds)
            check(report.p99Milliseconds.map { $0 <= bound } ?? false, "p99_ms")
        }
        if report.sickness == .invalidAll { check(report.tombstones == 0, "tombstones") }
        check(report.deadLetterBytesRatio <= deadLetterBytesRatio, "dead_letter_bytes_ratio")
        if report.sickness != nil {
            check(Double(report.sickOffered) >= Double(sickRate) * report.seconds, "sick_offered")
            check(report.sickOffered >= queues * report.sickQueue, "sick_offered_queues")
        }
        if let comeback = report.comeback {
            check(comeback.lost == 0, "return_lost")
            check(comeback.disordered == 0, "order_violations")
            check(comeback.ratio >= returnRatio, "return_ratio")
        }
        return missed
    }
}

/// Rate and queue of a topic, measured out for a run.
struct Dose: Equatable, Sendable {
    /// Of the sick topic, notifications a second.
    var rate: Int
    /// `worker.max-uncommitted`, in each partition.
    var queue: Int

    /// Queues that suit a healthy topic at 20,000 notifications a second.
    static let queues = 2000...5000

    init(rate: Int, queue: Int) {
        self.rate = rate
        self.queue = queue
    }

    /// The sick topic gets ten times its queue in the time there is, at no less than its least rate.
    ///
    /// - Parameter partitions: in each of which the topic has a queue.
    init(seconds: Int, partitions: Int) {
        let offered = Bounds.sickRate * seconds
        queue = min(max(offered / Bounds.queues / partitions, Self.queues.lowerBound), Self.queues.upperBound)
        let needed = Bounds.queues * queue * partitions
        // A little more, since publishing may end a moment early.
        rate = max(Bounds.sickRate * 21 / 20, needed * 21 / 20 / seconds)
    }
}
