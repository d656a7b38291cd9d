import Workbench

/// The result of `belfry-bench run scaling`.
struct WorkersReport {
    static let mostWorkers = 4

    /// A number of workers in one round.
    struct Step: Equatable {
        /// Of all workers together, for a notification.
        let cpuMicroseconds: Double
        /// Notifications a second at the gateway meanwhile, of all workers together.
        let rate: Double
        /// From the first assignment of partitions to the first notification at the gateway.
        let startSeconds: Double
        /// From SIGTERM to the end of the last worker.
        let stopSeconds: Double
    }

    /// A number of workers over the rounds.
    struct Fleet {
        var cpuMicroseconds = Samples()
        var rate = Samples()
        var startSeconds = Samples()
        var stopSeconds = Samples()
    }

    /// The fields for the help.
    static let fields = HelpTable(
        "Fields of its lines of JSON, with their targets",
        """
        scenario, rounds, seconds, partitions, rate_of_each, workers: What was measured. The fields below have a value \
        for each number of workers.
        cpu_us, cpu_ratio: CPU microseconds per notification of all workers, and how many times those of one: 1.1. \
        Less where the machine is full: records wait then, and go in larger batches.
        rate: Notifications a second at the sink meanwhile: 0.99 of what is offered.
        start_s: From the first assignment of partitions to the first notification at the sink: 1.
        stop_s: From SIGTERM to the end of the last process: 3.
        duplicates: Arrivals beyond the first, in the end, of all workers. They are not judged: unlike Kafka the \
        embedded broker takes no commits while a group rebalances, so that the next owner sends again what was settled \
        meanwhile. The run fails if fewer arrive than were published.
        passed, missed: The judgement, and the targets that were missed.
        """
    )

    /// Notifications a second that each worker was offered.
    let rateOfEach: Int
    let seconds: Int
    let partitions: Int
    /// Of one worker, of two, …
    private(set) var fleets = [Fleet](repeating: Fleet(), count: mostWorkers)
    /// Arrivals beyond the first, after all starts and stops.
    var duplicates = 0

    mutating func add(_ step: Step, workers: Int) {
        fleets[workers - 1].cpuMicroseconds.add(step.cpuMicroseconds)
        fleets[workers - 1].rate.add(step.rate)
        fleets[workers - 1].startSeconds.add(step.startSeconds)
        fleets[workers - 1].stopSeconds.add(step.stopSeconds)
    }

    /// CPU time per notification as a multiple of one worker's, by number of workers.
    var ratios: [Double] { fleets.map { $0.cpuMicroseconds.medianRatio(to: fleets[0].cpuMicroseconds) } }

    /// The targets that the result misses, in words.
    var missedTargets: [String] {
        let rates = fleets.enumerated().map { $1.rate.median / Double(($0 + 1) * rateOfEach) }
        let targets: [(isMet: Bool, name: String)] = [
            // Less is no harm: where the machine is full, records wait, and go in larger batches.
            (ratios.allSatisfy { $0 <= 1.1 }, "1.1 times the CPU time of one worker"),
            (fleets.allSatisfy { $0.startSeconds.median <= 1 }, "a start of 1 s"),
            (fleets.allSatisfy { $0.stopSeconds.median <= 3 }, "a stop of 3 s"),
            (rates.allSatisfy { $0 >= 0.99 }, "the offered rate at the gateway"),
        ]
        return targets.filter { !$0.isMet }.map(\.name)
    }

    /// The report as one line of JSON.
    func line() throws -> String {
        var line = ResultLine(scenario: "scaling")
        line.judge(missed: missedTargets)
        line.add("rounds", fleets[0].rate.values.count)
        line.add("seconds", seconds)
        line.add("partitions", partitions)
        line.add("rate_of_each", rateOfEach)
        line.add("workers", (1...Self.mostWorkers).map(Double.init), digits: 0)
        line.add("rate", each: fleets.map(\.rate), digits: 0)
        line.add("cpu_us", each: fleets.map(\.cpuMicroseconds), digits: 3)
        line.add("cpu_ratio", ratios, digits: 3)
        line.add("start_s", each: fleets.map(\.startSeconds), digits: 3)
        line.add("stop_s", each: fleets.map(\.stopSeconds), digits: 3)
        line.add("duplicates", duplicates)
        return try line.text()
    }
}
