import NIOCore
import PipelineCore
import ServiceLifecycle
import Synchronization

/// The troubles that a role does not get over by itself: a client that failed permanently, and event loops that stand
/// still. A supervisor has to start the role again.
///
/// Called from any thread; answers without asking an event loop.
public final class RoleHealth: Sendable {
    private struct State {
        var failure: RoleFailure?
        var loops = LoopWatch()
    }

    private let state = Mutex(State())
    private let failures = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    package init() {}

    // MARK: Failing

    /// The role cannot go on; it ends. The first cause counts.
    ///
    /// - Parameter cause: words for people, without secrets: `/livez` shows them.
    package func fail(_ cause: String) {
        state.withLock { state in
            if state.failure == nil { state.failure = RoleFailure(description: cause) }
        }
        failures.continuation.yield()
    }

    /// Waits until the role is told to stop, or cannot go on. For one caller.
    package func untilStop() async {
        await withTaskGroup(of: Void.self) { waits in
            waits.addTask { try? await gracefulShutdown() }
            waits.addTask { [stream = failures.stream] in
                var failures = stream.makeAsyncIterator()
                _ = await failures.next()
            }
            _ = await waits.next()
            waits.cancelAll()
        }
    }

    /// The role could not go on.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// - Throws: ``RoleFailure``: the role could not go on.
    package func check() throws(RoleFailure) {
        let failure = state.withLock { $0.failure }
        if let failure { throw failure }
    }

    // MARK: Event loops

    /// Watches an event loop until ``forgetLoops()``. Called on it.
    ///
    /// - Parameter name: a constant, unlike those of the role's other loops.
    package func watch(_ eventLoop: any EventLoop, as name: String) {
        let number = state.withLock { $0.loops.add(name, now: MonotonicTime(eventLoop.now)) }
        let interval = TimeAmount(LoopWatch.interval)
        // The loop keeps its timer, until it ends.
        _ = eventLoop.repeating(after: interval, every: interval) { [self] in
            state.withLock { $0.loops.mark(number, now: MonotonicTime(eventLoop.now)) }
        }
    }

    /// The watched event loops are about to end.
    package func forgetLoops() {
        state.withLock { $0.loops.removeAll() }
    }

    /// An event loop stands still: questions to it get no answer.
    func isStuck(now: MonotonicTime) -> Bool {
        state.withLock { !$0.loops.stuck(now: now).isEmpty }
    }

    /// The standstills that were not told yet.
    func takeNews(now: MonotonicTime) -> [LoopWatch.Silence] {
        state.withLock { $0.loops.takeNews(now: now) }
    }

    // MARK: Telling

    func liveness(now: MonotonicTime) -> Liveness {
        let (failure, stuck) = state.withLock { ($0.failure, $0.loops.stuck(now: now)) }
        var liveness = Liveness()
        if let failure { liveness.troubles.append(failure.description) }
        for silence in stuck {
            let seconds = silence.duration.components.seconds
            liveness.troubles.append("event loop \(silence.loop) stands still for \(seconds) s")
        }
        return liveness
    }

    /// The readiness of a role that has to be started again; nil: it can go on, and its parts know.
    func readiness(now: MonotonicTime) -> Readiness? {
        let liveness = liveness(now: now)
        return liveness.isAlive ? nil : Readiness(process: liveness.troubles)
    }

    private static let table: [Metric<[LoopWatch.Silence]>] = [
        .gauge(
            "belfry_event_loop_silence_seconds",
            "Time since an event loop marked its progress, which it does every second.",
            .each(\.self, labels: { [.init("loop", $0.loop)] }, .seconds(\.duration))
        )
    ]

    private static let delays: [Metric<[LoopWatch.Delays]>] = [
        .histogram(
            "belfry_event_loop_delay_seconds",
            "Lateness of a timer that each event loop has once a second: how long others wait for their turn.",
            .each(\.self, labels: { [.init("loop", $0.loop)] }, .histogram(\.lateness))
        )
    ]

    func metrics(now: MonotonicTime) -> [MetricFamily] {
        let (silences, delays) = state.withLock { ($0.loops.silences(now: now), $0.loops.delays) }
        return Self.table.families(of: [silences]) + Self.delays.families(of: [delays])
    }
}

/// A role ended because it could not go on: exit code 1, so that its supervisor starts it again.
public struct RoleFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The cause, in words for people.
    public let description: String
}

/// Tells that a role can go on, or why it has to be started again.
struct Liveness: Sendable, Equatable {
    /// In words for people. Empty: it can go on.
    var troubles: [String] = []

    var isAlive: Bool { troubles.isEmpty }

    /// The answer of `/livez`: one line per trouble.
    var text: String { isAlive ? "alive\n" : troubles.map { "\($0)\n" }.joined() }
}
