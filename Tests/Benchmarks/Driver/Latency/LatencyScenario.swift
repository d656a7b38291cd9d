import Foundation
import Workbench

/// Scenario `latency`: a publisher that keeps a rate, a worker with default settings, and beside it a bare consumer of
/// the same records, all at once.
///
/// The broker lets a fetch wait until there are records, as Kafka does; see `Servers.startFrontBroker`.
struct LatencyScenario {
    private enum Limit {
        static let warmUpAttempts = 5
        /// For the group to form and the worker to take what was published before.
        static let readyMilliseconds: Int32 = 60_000
        /// For the last records of a round.
        static let arrivalMilliseconds: Int32 = 10_000
        /// For what would arrive twice.
        static let quietMilliseconds: Int32 = 300
    }

    /// Seconds of the rate that wait at the broker while the group forms.
    static let warmUpSeconds = 3

    private let setting: SteadySetting
    private let rate: Int
    private let worker: ChildProcess
    private let receiver: Receiver
    /// Notifications published so far; the next one's number.
    private var published = 0

    /// Starts what is missing.
    init(servers: Servers, brokers: String, rate: Int) throws {
        say("starting")
        self.rate = rate
        setting = try SteadySetting(servers: servers, brokers: brokers)
        receiver = try Receiver(servers: servers, brokers: brokers)
        worker = try servers.start(
            "worker",
            program: servers.programs.belfry,
            arguments: try setting.configureWorkers(logLevel: "warning")
        )
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, seconds: Int, partitions: Int) throws -> LatencyReport {
        try warmUp()
        var report = LatencyReport(rateWanted: rate, seconds: seconds, partitions: partitions)
        for round in 0..<rounds {
            let cpu = try worker.cpuMicroseconds()
            let count = rate * seconds
            let pace = try publish(count)
            let seen = try awaitArrival(milliseconds: Limit.arrivalMilliseconds)
            let arrivals = try setting.sink.latency()
            let received = try receiver.latency(records: published, milliseconds: Limit.arrivalMilliseconds)
            guard seen.notifications == published, arrivals.latency.count == count, received.latency.count == count
            else {
                throw BenchmarkError(
                    "\(count) notifications were published; \(arrivals.latency.count) reached the gateway, "
                        + "\(received.latency.count) the consumer beside it"
                )
            }
            report.worker.add(arrivals.latency)
            report.floor.add(received.latency)
            report.lateness.add(pace.lateness)
            report.rateOffered.add(Double(count) / pace.seconds)
            report.rate.add(
                Double(count) / (Double(seen.lastByteNanoseconds - arrivals.firstNanoseconds) / 1e9)
            )
            report.cpuMicroseconds.add((try worker.cpuMicroseconds() - cpu) / Double(count))
            tell(round, arrivals.latency, received.latency)
        }
        return report
    }

    private func tell(_ round: Int, _ worker: Latency, _ floor: Latency) {
        func text(_ latency: Latency) -> String {
            [latency.p50, latency.p99, latency.p999].map { "\(rounded($0 / 1e3, digits: 2))" }.joined(separator: " ")
        }
        say("round \(round + 1): p50, p99, p99.9 in ms: \(text(worker)); floor \(text(floor))")
    }

    /// Publishes until the group has settled, and a run arrives exactly once.
    private mutating func warmUp() throws {
        say("warming up")
        for _ in 0..<Limit.warmUpAttempts {
            let before = published
            let arrivedBefore = try setting.sink.totals().notifications
            _ = try publish(rate * Self.warmUpSeconds)
            let seen = try awaitArrival(milliseconds: Limit.readyMilliseconds)
            _ = try setting.sink.latency()
            _ = try receiver.latency(records: published, milliseconds: Limit.arrivalMilliseconds)
            if before > 0, arrivedBefore == before, seen.notifications == published { return }
            guard seen.notifications == published else {
                throw BenchmarkError(
                    "\(published) notifications were published, \(seen.notifications) reached the gateway"
                )
            }
        }
        throw BenchmarkError("the worker's group does not settle")
    }

    private mutating func publish(_ count: Int) throws -> Pace.Result {
        let target = setting.target(lingerMilliseconds: 0)
        let pace = try Pace(setting.servers, to: target, first: published, count: count, rate: rate)
        published += count
        return try pace.end()
    }

    /// Waits until all has arrived that was published, and a little longer for what should not.
    private func awaitArrival(milliseconds: Int32) throws -> Sink.Totals {
        _ = try setting.sink.wait(notifications: published, milliseconds: milliseconds)
        return try setting.sink.wait(notifications: published + 1, milliseconds: Limit.quietMilliseconds)
    }
}
