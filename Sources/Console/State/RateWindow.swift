import PipelineCore
import PushSchemas

/// Counters of a process over the last seconds: their rates, and their growth since the answer before.
///
/// A counter that falls means that the process was started anew: counting begins again. Pure.
struct RateWindow: Sendable {
    /// The growth of counters since the answer before.
    struct Growth: Equatable, Sendable {
        /// As in ``Counters``; those that grew.
        var counts: [String: Int] = [:]
        var delivery: [DeliveryCounts.Way: DeliveryCounts] = [:]
    }

    /// The counters of one answer.
    struct Counters: Equatable, Sendable {
        /// `totals` of the answer, and its outcomes as `outcome.NAME`.
        var counts: [String: Int]
        var accepted: [RoleAnswer.TopicName: Int]
        var delivery: [DeliveryCounts.Way: DeliveryCounts]
        var cpuSeconds: Double

        /// Of `totals` those that the page shows: others would take memory.
        private static let shown: Set = [
            "applied", "deadLetters", "misplacedRecords", "notifications", "records", "sent", "tombstones", "tuples",
        ]

        init(of answer: RoleAnswer) {
            counts = answer.totals.filter { Self.shown.contains($0.key) }
            // Names that this console does not know share one.
            for (name, count) in answer.outcomes {
                let isKnown = OutcomeKind.allCases.contains { $0.name == name }
                counts[Self.outcome(isKnown ? name : "other"), default: 0] += count
            }
            accepted = Dictionary(answer.topics.map { ($0.name, $0.accepted) }, uniquingKeysWith: max)
            delivery = answer.delivery
            cpuSeconds = answer.cpuSeconds ?? 0
        }

        static func outcome(_ name: String) -> String { "outcome.\(name)" }

        fileprivate func fell(behind later: Counters) -> Bool {
            later.cpuSeconds < cpuSeconds || counts.contains { later.counts[$0.key, default: 0] < $0.value }
                || delivery.contains { $0.value.fell(behind: later.delivery[$0.key] ?? DeliveryCounts()) }
        }
    }

    private struct Sample {
        var time: MonotonicTime
        var counters: Counters
    }

    private var samples: [Sample] = []

    /// Takes the counters of a new answer.
    ///
    /// - Returns: the growth of each count since the answer before; of a process that was started anew since its start;
    ///   nothing for the first answer, whose counts are of an unknown time.
    mutating func take(_ counters: Counters, now: MonotonicTime) -> Growth {
        var growth = Growth()
        if let last = samples.last {
            growth = Growth(counts: counters.counts, delivery: counters.delivery)
            if last.counters.fell(behind: counters) {
                samples = []
            } else {
                for (name, count) in last.counters.counts { growth.counts[name, default: 0] -= count }
                for (way, times) in last.counters.delivery {
                    growth.delivery[way] = growth.delivery[way]?.grown(since: times)
                }
            }
        }
        samples.append(Sample(time: now, counters: counters))
        while samples.count > 2, samples[1].time.elapsed(until: now) >= ConsoleLimits.rateWindow {
            samples.removeFirst()
        }
        growth.counts = growth.counts.filter { $0.value > 0 }
        growth.delivery = growth.delivery.filter { $0.value != DeliveryCounts() }
        return growth
    }

    /// Of a count, per second; 0 before the second answer.
    func perSecond(_ name: String) -> Double {
        rate { Double($0.counts[name] ?? 0) }
    }

    /// Notifications of a topic that were accepted, per second.
    func perSecond(of topic: RoleAnswer.TopicName) -> Double {
        guard samples.first?.counters.accepted[topic] != nil else { return 0 }
        return rate { Double($0.accepted[topic] ?? 0) }
    }

    /// Processor cores in use.
    var cores: Double { rate(\.cpuSeconds) }

    private func rate(_ value: (Counters) -> Double) -> Double {
        guard let first = samples.first, let last = samples.last else { return 0 }
        let seconds = first.time.elapsed(until: last.time) / .seconds(1)
        return seconds > 0 ? max(0, (value(last.counters) - value(first.counters)) / seconds) : 0
    }
}
