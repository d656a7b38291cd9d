import Foundation
import Glibc
import Workbench

/// Scenario `scaling`: one to four workers, each with default settings and the same offered rate, started and stopped
/// under load.
///
/// All of them are of one group, one number after the other. What is published while none runs is what the next ones
/// begin with. At the end no fewer must have arrived than were published.
struct WorkersScenario {
    private enum Limit {
        /// For the group to form.
        static let startSeconds = 60.0
        /// For what was published to arrive.
        static let arrivalMilliseconds: Int32 = 120_000
        /// Of the load, before it is measured.
        static let warmUpMilliseconds: Int32 = 2000
        static let stopSeconds = 60.0
        /// Between two looks at a process.
        static let lookMilliseconds: Int32 = 2
        /// Between two looks at the logs.
        static let logMilliseconds: Int32 = 50
        /// A publisher ends by itself after so long.
        static let paceSeconds = 600
        /// For what would arrive twice.
        static let quietMilliseconds: Int32 = 500
        /// Of a record at the publisher for one worker; for more of them as many times less. So each worker gets as
        /// many batches of the same size, and what a fetch costs is the same share of all.
        static let lingerMilliseconds = 60
        /// The embedded broker lets a group form anew for the whole session, 45 s by default.
        static let sessionMilliseconds = 6000
    }

    /// Seconds of one worker's rate that wait at the broker: the session in which a group forms anew, and a second in
    /// which four workers stop.
    static let waitingSeconds = Limit.sessionMilliseconds / 1000 + WorkersReport.mostWorkers

    private let setting: SteadySetting
    /// Of a worker.
    private let arguments: [String]
    /// Notifications a second for each worker.
    private let rate: Int
    /// Notifications published so far; the next one's number.
    private var published = 0
    private var workersStarted = 0

    /// Starts the servers.
    init(servers: Servers, brokers: String, rate: Int) throws {
        say("starting")
        self.rate = rate
        setting = try SteadySetting(servers: servers, brokers: brokers)
        arguments = try setting.configureWorkers(
            logLevel: "info",
            sessionMilliseconds: Limit.sessionMilliseconds
        )
    }

    /// Measures, and reports.
    mutating func run(rounds: Int, seconds: Int, partitions: Int) throws -> WorkersReport {
        var report = WorkersReport(rateOfEach: rate, seconds: seconds, partitions: partitions)
        for round in 0..<rounds {
            let counts = Array(1...WorkersReport.mostWorkers)
            for count in round.isMultiple(of: 2) ? counts : counts.reversed() {
                let step = try measure(workers: count, seconds: seconds)
                report.add(step, workers: count)
                say(
                    "round \(round + 1), \(count) workers: \(rounded(step.cpuMicroseconds, digits: 2)) us of CPU each "
                        + "at \(Int(step.rate))/s; start \(rounded(step.startSeconds, digits: 3)) s, "
                        + "stop \(rounded(step.stopSeconds, digits: 3)) s"
                )
            }
        }
        try takeRest(into: &report)
        return report
    }

    /// Starts so many workers, measures them, and stops them.
    private mutating func measure(workers count: Int, seconds: Int) throws -> WorkersReport.Step {
        // Light, so that little waits when the group has formed.
        var pace = try startPublishing(rate: rate, workers: count)
        _ = try setting.sink.latency()
        let earlier = try setting.sink.totals().notifications
        let (workers, assigned) = try startWorkers(count)
        published += try pace.stop().lateness.count
        _ = try awaitPublished(since: earlier)
        let start = try setting.sink.latency().firstNanoseconds
        guard start > 0 else { throw BenchmarkError("nothing arrived from \(count) workers") }

        pace = try startPublishing(rate: count * rate, workers: count)
        poll(nil, 0, Limit.warmUpMilliseconds)
        let (time, before, cpu) = (Sink.now(), try setting.sink.totals().notifications, try Self.cpu(of: workers))
        poll(nil, 0, Int32(seconds) * 1000)
        let (endTime, after, endCPU) = (Sink.now(), try setting.sink.totals().notifications, try Self.cpu(of: workers))

        let stop = try stop(workers)
        published += try pace.stop().lateness.count
        let arrived = Double(max(1, after - before))
        return WorkersReport.Step(
            cpuMicroseconds: (endCPU - cpu) / arrived,
            rate: arrived / (Double(endTime - time) / 1e9),
            startSeconds: Double(Int64(start) - Int64(assigned)) / 1e9,
            stopSeconds: stop
        )
    }

    private func startPublishing(rate: Int, workers: Int) throws -> Pace {
        let target = setting.target(lingerMilliseconds: Limit.lingerMilliseconds / workers)
        return try Pace(setting.servers, to: target, first: published, count: rate * Limit.paceSeconds, rate: rate)
    }

    /// Returns when each of their shards has partitions, and the time at which the first one got some, by the sink's
    /// clock.
    private mutating func startWorkers(_ count: Int) throws -> (workers: [ChildProcess], assigned: UInt64) {
        var workers: [ChildProcess] = []
        for _ in 0..<count {
            workersStarted += 1
            workers.append(
                try setting.servers.start(
                    "worker-\(workersStarted)",
                    program: setting.servers.programs.belfry,
                    arguments: arguments
                )
            )
        }
        let begin = Date()
        while true {
            let assignments = workers.map { AssignmentLine.times(in: $0.log) }
            let isEverywhere = assignments.allSatisfy { $0.count >= SteadySetting.shards }
            if isEverywhere, let first = assignments.flatMap(\.values).min() {
                return (workers, Sink.now() - UInt64(max(0, Date().timeIntervalSince(first)) * 1e9))
            }
            guard workers.allSatisfy(\.isRunning), Date().timeIntervalSince(begin) < Limit.startSeconds else {
                throw BenchmarkError("not all of \(count) workers get partitions")
            }
            poll(nil, 0, Limit.logMilliseconds)
        }
    }

    /// Stops them at once.
    ///
    /// - Returns: seconds until the last one has ended.
    private func stop(_ workers: [ChildProcess]) throws -> Double {
        let start = Sink.now()
        for worker in workers { worker.signal(SIGTERM) }
        while workers.contains(where: \.isRunning) {
            guard Double(Sink.now() - start) / 1e9 < Limit.stopSeconds else {
                throw BenchmarkError("a worker does not stop")
            }
            poll(nil, 0, Limit.lookMilliseconds)
        }
        let seconds = Double(Sink.now() - start) / 1e9
        for worker in workers { try worker.awaitSuccess() }
        return seconds
    }

    /// Lets one more worker take what the last ones left, and counts.
    private mutating func takeRest(into report: inout WorkersReport) throws {
        let earlier = try setting.sink.totals().notifications
        let (workers, _) = try startWorkers(1)
        var total = try awaitPublished(since: earlier)
        var last = 0
        while total.notifications > last {
            last = total.notifications
            total = try setting.sink.wait(notifications: .max, milliseconds: Limit.quietMilliseconds)
        }
        report.duplicates = total.notifications - published
        _ = try stop(workers)
    }

    /// Waits until as many have arrived as were published, and one at least beyond the `earlier` ones: repetitions of
    /// former workers' notifications count as well, so that the sum may be there before the first of the present ones.
    private func awaitPublished(since earlier: Int) throws -> Sink.Totals {
        let total = try setting.sink.wait(
            notifications: max(published, earlier + 1),
            milliseconds: Limit.arrivalMilliseconds
        )
        guard total.notifications >= published else {
            throw BenchmarkError("\(published) notifications were published, \(total.notifications) arrived")
        }
        return total
    }

    private static func cpu(of workers: [ChildProcess]) throws -> Double {
        try workers.reduce(0) { $0 + (try $1.cpuMicroseconds()) }
    }
}

/// A line of a worker's log that tells of an assignment.
struct AssignmentLine: Decodable {
    let time: String
    let message: String
    let metadata: [String: String]?

    /// The time at which each shard of the normal lane, which names none, first got partitions, by a log so far. An
    /// assignment of none is left out.
    static func times(in log: String) -> [String: Date] {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var times: [String: Date] = [:]
        for text in log.split(separator: "\n") where text.contains("partitions assigned") {
            guard let line = try? JSONDecoder().decode(AssignmentLine.self, from: Data(text.utf8)),
                line.message == "partitions assigned",
                line.metadata?["partitions"]?.contains(where: \.isNumber) ?? false, line.metadata?["lane"] == nil,
                let shard = line.metadata?["shard"],
                let time = try? Date(line.time, strategy: format)
            else { continue }
            times[shard] = min(time, times[shard] ?? time)
        }
        return times
    }
}
