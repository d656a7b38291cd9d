import Dispatch
import NIOCore

/// The event loop of one worker process under the world's clock.
///
/// It can be held up, as a stopped process is, or a machine without processor time: what came due meanwhile runs when it goes
/// on, timers before sockets, which is the order that deceives most. And it can die with its process: nothing of it happens
/// any more. Used by one thread only, the world's, which is always "in" it.
final class SimulatedEventLoop: EventLoop, @unchecked Sendable {
    private let clock: VirtualClock
    /// Called after everything that ran here.
    private let afterEach: () -> Void
    private(set) var isDead = false
    private(set) var heldUntil: VirtualTime = 0
    private var heldSince: VirtualTime = 0
    /// How long it stood still when it last did.
    var lastHold: VirtualTime { heldUntil - heldSince }
    private var heldTimers: [() -> Void] = []
    private var heldSockets: [() -> Void] = []

    init(clock: VirtualClock, afterEach: @escaping () -> Void) {
        self.clock = clock
        self.afterEach = afterEach
    }

    var isHeld: Bool { clock.now < heldUntil }

    /// Nothing runs for so long.
    func hold(for time: VirtualTime) {
        if !isHeld { heldSince = clock.now }
        heldUntil = max(heldUntil, clock.now + time)
        clock.at(heldUntil) { [self] in release() }
    }

    /// The process is gone.
    func die() {
        isDead = true
        heldTimers = []
        heldSockets = []
    }

    /// Something from outside reaches the process after a delay.
    func deliver(after delay: VirtualTime, _ body: @escaping () -> Void) {
        clock.after(delay) { [self] in
            if isHeld { heldSockets.append(body) } else { run(body) }
        }
    }

    private func release() {
        guard !isHeld else { return }
        let held = heldTimers + heldSockets
        heldTimers = []
        heldSockets = []
        for (index, body) in held.enumerated() {
            // One of them made a call that blocks.
            guard !isHeld else {
                heldTimers = held[index...] + heldTimers
                return
            }
            run(body)
        }
    }

    private func run(_ body: () -> Void) {
        guard !isDead else { return }
        body()
        afterEach()
    }

    private func timer(at time: VirtualTime, _ body: @escaping () -> Void) -> VirtualClock.Event {
        clock.at(time) { [self] in
            if isHeld { heldTimers.append(body) } else { run(body) }
        }
    }

    // MARK: EventLoop

    var inEventLoop: Bool { true }
    var now: NIODeadline { .uptimeNanoseconds(clock.now) }

    func execute(_ task: @escaping @Sendable () -> Void) {
        _ = timer(at: clock.now, task)
    }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        var isCancelled = false
        let event = timer(at: deadline.uptimeNanoseconds) {
            // Held up, it may be cancelled after it came due.
            guard !isCancelled else { return }
            promise.assumeIsolated().completeWith(Result(catching: task))
        }
        let cancel = {
            isCancelled = true
            event.cancel()
            promise.fail(EventLoopError.cancelled)
        }
        let bound = NIOLoopBound(cancel, eventLoop: self)
        return Scheduled(promise: promise) { bound.value() }
    }

    func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        scheduleTask(deadline: now + delay, task)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        callback(EventLoopError.unsupportedOperation)
    }
}
