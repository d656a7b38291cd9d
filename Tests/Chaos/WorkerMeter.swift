import Foundation
import LocalPipeline
import Synchronization
import Workbench

/// Looks at the metrics of the workers once a second, on a thread of its own, so that what a killed one had counted is
/// not all lost: what it counted in its last second is.
final class WorkerMeter: Sendable {
    /// The values of the last look at a worker.
    private struct Reading {
        var process: ChildProcess
        var port: Int?
        var counters: [String: Int] = [:]
        /// Since when it is made to stand still; nil: it may work.
        var pausedSince: ContinuousClock.Instant?
        var longestStandstill = Duration.zero

        mutating func noteStandstill(_ duration: Duration) { longestStandstill = max(longestStandstill, duration) }
    }

    private struct State {
        var readings: [String: Reading] = [:]
        var mostInFlight = 0
        var looks = 0
    }

    private let state = Mutex(State())

    static let counters = ["belfry_resent_total", "belfry_presumed_wrong_total"]
    private static let silence = "belfry_event_loop_silence_seconds"
    private static let delay = "belfry_event_loop_delay_seconds"
    private static let inFlight = "belfry_in_flight_notifications"
    private static let intervalMilliseconds = 1000

    /// Looks until the board is aborted or finished.
    func start(_ board: Board) {
        Thread.detachNewThread { [self] in
            while case .some = try? board.pass(milliseconds: Self.intervalMilliseconds) {
                if case .finished = board.read().phase { return }
                look()
            }
        }
    }

    /// From now on a worker is looked at.
    func watch(_ name: String, _ process: ChildProcess) {
        state.withLock { $0.readings[name] = Reading(process: process) }
    }

    /// A worker is made to stand still and would not answer. Ignored for one that is not watched.
    func pause(_ name: String) {
        state.withLock { $0.readings[name]?.pausedSince = .now }
    }

    /// A worker may work again.
    func goOn(_ name: String) {
        state.withLock { state in
            guard let since = state.readings[name]?.pausedSince else { return }
            state.readings[name]?.pausedSince = nil
            state.readings[name]?.noteStandstill(since.duration(to: .now))
        }
    }

    /// The longest time for which each worker did nothing, by its name: made to stand still, or an event loop of its
    /// that came late, as far as its metrics tell.
    var longestStandstills: [String: Duration] { state.withLock { $0.readings.mapValues(\.longestStandstill) } }

    /// The last value of a counter that was seen of a worker.
    func last(_ counter: String, of name: String) -> Int {
        state.withLock { $0.readings[name]?.counters[counter] ?? 0 }
    }

    /// The most notifications that one worker was seen to have handed to connections without knowing their fate; nil if
    /// none was ever looked at.
    var mostInFlight: Int? {
        state.withLock { $0.looks > 0 ? $0.mostInFlight : nil }
    }

    private func look() {
        let readings = state.withLock { $0.readings }
        for (name, reading) in readings where reading.process.isRunning && reading.pausedSince == nil {
            guard let port = reading.port ?? Self.port(of: reading.process) else { continue }
            // One that is about to end does not answer.
            guard let text = try? LoopbackSocket(port: port).get("/metrics") else { continue }
            let numbers = MetricNumbers(text)
            let counters = Dictionary(uniqueKeysWithValues: Self.counters.map { ($0, Int(numbers.sum(of: $0))) })
            let standstill = max(numbers.values(of: Self.silence).max() ?? 0, numbers.longest(of: Self.delay))
            let inFlight = Int(numbers.sum(of: Self.inFlight))
            state.withLock {
                $0.readings[name]?.port = port
                $0.readings[name]?.counters = counters
                $0.readings[name]?.noteStandstill(.seconds(standstill))
                $0.mostInFlight = max($0.mostInFlight, inFlight)
                $0.looks += 1
            }
        }
    }

    /// Port 0 was asked for; the worker says which it is.
    private static func port(of process: ChildProcess) -> Int? {
        WorkerLog.operationsAddress(of: process)?.split(separator: ":").last.flatMap { Int($0) }
    }
}
