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
        var isPaused = false
    }

    private struct State {
        var readings: [String: Reading] = [:]
        var mostInFlight = 0
        var looks = 0
    }

    private let state = Mutex(State())

    static let counters = ["belfry_resent_total", "belfry_presumed_wrong_total"]
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
        state.withLock { state in
            var reading = state.readings[name] ?? Reading(process: process)
            reading.isPaused = false
            state.readings[name] = reading
        }
    }

    /// A worker stands still and would not answer; ``watch(_:_:)`` goes on.
    func pause(_ name: String) {
        state.withLock { $0.readings[name]?.isPaused = true }
    }

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
        for (name, reading) in readings where reading.process.isRunning && !reading.isPaused {
            guard let port = reading.port ?? Self.port(of: reading.process) else { continue }
            // One that is about to end does not answer.
            guard let text = try? LoopbackSocket(port: port).get("/metrics") else { continue }
            let counters = Dictionary(
                uniqueKeysWithValues: Self.counters.map { ($0, MetricsText.sum(of: $0, in: text)) }
            )
            let inFlight = MetricsText.sum(of: Self.inFlight, in: text)
            state.withLock {
                $0.readings[name]?.port = port
                $0.readings[name]?.counters = counters
                $0.mostInFlight = max($0.mostInFlight, inFlight)
                $0.looks += 1
            }
        }
    }

    /// Port 0 was asked for; the worker says which it is.
    private static func port(of process: ChildProcess) -> Int? {
        let line = process.log.split(separator: "\n").first { $0.contains("operations endpoint listens") }
        guard let address = line?.split(separator: "\"").last(where: { $0.hasPrefix("127.0.0.1:") }) else { return nil }
        return address.split(separator: ":").last.flatMap { Int($0) }
    }
}

/// The text exposition of Prometheus, as far as it is needed.
enum MetricsText {
    /// The sum over all series of a metric; 0 without any.
    static func sum(of name: String, in text: String) -> Int {
        var sum = 0.0
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix(name) {
            guard let next = line.dropFirst(name.count).first, next == "{" || next == " " else { continue }
            sum += line.split(separator: " ").last.flatMap { Double($0) } ?? 0
        }
        return Int(sum)
    }
}
