import Dispatch
import NIOCore

/// The event loop of one worker process under the world's clock.
///
/// It can be held up, as a stopped process is, or a machine without processor time: what came due meanwhile runs when
/// it goes on, timers before sockets, which is the order that deceives most. It can be suspended with its host: then
/// its clock stands still, too. And it can die with its process: nothing of it happens any more. Used by one thread
/// only, the world's, which is always "in" it.
final class SimulatedEventLoop: EventLoop, @unchecked Sendable {
    private let clock: VirtualClock
    /// Called after everything that ran here.
    private let afterEach: () -> Void
    private(set) var isDead = false
    private(set) var heldUntil: VirtualTime = 0
    private var heldSince: VirtualTime = 0
    /// Length of its last standstill.
    var lastHold: VirtualTime { heldUntil - heldSince }
    /// Time for which its host was suspended.
    private var suspended: VirtualTime = 0
    /// Callbacks that are to come, by number.
    private var callbacks: [UInt64: VirtualClock.Event] = [:]
    private var lastCallback: UInt64 = 0
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

    /// Its host is suspended for so long, and its clock with it.
    func suspend(for time: VirtualTime) {
        clock.after(time) { [self] in suspended += time }
        hold(for: time)
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
        clock.at(time + suspended) { [self] in
            guard isHeld || ownTime < time else { return run(body) }
            guard isHeld else {
                _ = timer(at: time, body)
                return
            }
            heldTimers.append { [self] in
                // Due by the clock of the world alone.
                if ownTime < time { _ = timer(at: time, body) } else { body() }
            }
        }
    }

    /// The time of its own clock.
    private var ownTime: VirtualTime { clock.now - suspended }

    // MARK: EventLoop

    var inEventLoop: Bool { true }
    var now: NIODeadline { .uptimeNanoseconds(ownTime) }

    func execute(_ task: @escaping @Sendable () -> Void) {
        _ = timer(at: ownTime, task)
    }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let timer = SimulatedTimer(clock: clock, promise: makePromise(of: T.self), task: task)
        timer.event = self.timer(at: deadline.uptimeNanoseconds) { timer.fire() }
        return Scheduled(promise: timer.promise) { timer.cancel() }
    }

    func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        scheduleTask(deadline: now + delay, task)
    }

    func scheduleCallback(
        at deadline: NIODeadline,
        handler: some (NIOScheduledCallbackHandler & Sendable)
    ) -> NIOScheduledCallback {
        lastCallback += 1
        let number = lastCallback
        callbacks[number] = timer(at: deadline.uptimeNanoseconds) { [unowned self] in
            guard callbacks.removeValue(forKey: number) != nil else { return }
            handler.handleScheduledCallback(eventLoop: self)
        }
        return NIOScheduledCallback(self, id: number)
    }

    func cancelScheduledCallback(_ callback: NIOScheduledCallback) {
        guard let number = callback.customCallbackID, let event = callbacks.removeValue(forKey: number) else { return }
        clock.cancel(event)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        callback(EventLoopError.unsupportedOperation)
    }
}

/// A task that a simulated loop was asked to run later.
private final class SimulatedTimer<T>: @unchecked Sendable {
    private let clock: VirtualClock
    let promise: EventLoopPromise<T>
    /// Nil once it was run or cancelled.
    private var task: (() throws -> T)?
    var event: VirtualClock.Event?

    init(clock: VirtualClock, promise: EventLoopPromise<T>, task: @escaping () throws -> T) {
        self.clock = clock
        self.promise = promise
        self.task = task
    }

    /// Its process is gone: NIO, built for debugging, takes a promise without an end for a fault.
    deinit { if task != nil { promise.fail(EventLoopError.shutdown) } }

    /// Held up, it may be cancelled after it came due.
    func fire() {
        guard let task else { return }
        self.task = nil
        promise.assumeIsolated().completeWith(Result(catching: task))
    }

    func cancel() {
        guard task != nil else { return }
        task = nil
        if let event { clock.cancel(event) }
        promise.fail(EventLoopError.cancelled)
    }
}
