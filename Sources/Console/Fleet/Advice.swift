/// Advice on the number of workers, by a rule that stands in Deploy/MONITORING.md.
///
/// Its measure is the work that more workers would do: records that wait for topics that work, and the rate at which
/// records are taken in. Workers before which records wait are busy, so that their rate is what one of them can do.
/// Pure.
struct Advice: Encodable, Equatable, Sendable {
    enum Verdict: String, Encodable, Sendable {
        /// No worker answers.
        case unknown
        case enough
        case more
        case fewer
        /// Every partition of the lane in which most records wait has a worker of its own.
        case partitions
        /// Records wait and nothing is taken in: more workers do not help.
        case stuck
    }

    /// The figures by which is judged.
    struct Load: Equatable, Sendable {
        var workers: Int
        /// Of the Kafka topic in which most records wait: more workers than that have nothing to do there.
        var partitions: Int
        /// The name of that Kafka topic; nil: workers read no other.
        var kafkaTopic: String?
        /// In all lanes.
        var waitingRecords: Int
        /// Taken in by all workers.
        var recordsPerSecond: Double
        /// Of the records that wait, over five minutes; nil: not known yet.
        var growthPerSecond: Double?
        /// Of all workers, over the last hour; nil: not known yet.
        var meanCores: Double?
    }

    /// Fewer records that wait are no reason for a change.
    static let quietRecords = 1000
    /// Likewise if they are worked off within this time.
    static let quietSeconds = 30.0
    /// Records that wait are to be worked off within this time.
    static let patienceSeconds = 300.0
    /// A worker that uses fewer cores, over an hour, is one too many …
    static let idleCores = 0.25
    /// … and those that stay shall use so many.
    static let busyCores = 0.5
    /// For the sake of a failing machine.
    static let leastWorkers = 2

    let verdict: Verdict
    let workers: Int
    /// Nil: as many as there are, or not known.
    let wanted: Int?
    let text: String

    init(_ load: Load) {
        workers = load.workers
        (verdict, wanted, text) = Self.judge(load)
    }

    private static func judge(_ load: Load) -> (Verdict, Int?, String) {
        guard load.workers > 0 else { return (.unknown, nil, "No worker answers.") }
        let waiting = Double(load.waitingRecords)
        let rate = load.recordsPerSecond
        let place = load.kafkaTopic.map { ", most of them in \($0)," } ?? ""
        let waitingText = "\(grouped(load.waitingRecords)) records\(place) wait"
        if load.waitingRecords < quietRecords || waiting < rate * quietSeconds { return judgeCalm(load) }
        guard rate >= 1 else {
            let text = "\(waitingText) and none is taken in: more workers do not help."
            return (.stuck, nil, text)
        }
        let growth = load.growthPerSecond ?? 0
        let perWorker = rate / Double(load.workers)
        let needed = ((rate + growth + waiting / patienceSeconds) / perWorker).rounded(.up)
        guard needed > Double(load.workers) else {
            let seconds = waiting / max(rate * 0.01, -growth)
            return (.enough, nil, "\(waitingText); they are worked off in \(duration(seconds)).")
        }
        guard load.workers < load.partitions else {
            let text =
                "\(waitingText), and each of the \(load.partitions) partitions has a worker of its own already: more "
                + "workers do not help, more partitions do."
            return (.partitions, nil, text)
        }
        let wanted = min(Int(min(needed, 1e6)), load.partitions)
        let perSecond = Int(perWorker.rounded())
        let text =
            "\(waitingText), and a worker takes in \(grouped(perSecond)) a second: "
            + "\(wanted) workers work that off in about 5 minutes."
        return (.more, wanted, text)
    }

    /// Nothing waits that is worth a change.
    private static func judgeCalm(_ load: Load) -> (Verdict, Int?, String) {
        if let cores = load.meanCores, cores < idleCores * Double(load.workers) {
            let wanted = max(leastWorkers, Int((cores / busyCores).rounded(.up)))
            if wanted < load.workers {
                let used = Int((cores * 100).rounded())
                let text =
                    "Nothing waits, and \(load.workers) workers used \(used) % of one core in the last hour: "
                    + "\(wanted) would do."
                return (.fewer, wanted, text)
            }
        }
        let text = load.workers == 1 ? "One worker keeps up." : "\(load.workers) workers keep up."
        return (.enough, nil, load.workers < leastWorkers ? text + " A second one takes over if it fails." : text)
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds.rounded(.up), 1), 1e6))
        return whole < 120 ? "\(whole) s" : "\((whole + 59) / 60) minutes"
    }

    /// 1,234,567.
    private static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        return String(
            digits.indices.flatMap { index -> [Character] in
                index > 0 && (digits.count - index).isMultiple(of: 3) ? [",", digits[index]] : [digits[index]]
            }
        )
    }
}
