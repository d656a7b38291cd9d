import NIOCore

extension EventLoop {
    /// Calls `body` on this event loop, again and again; for owners that live on it. Called on the event loop.
    package func repeating(
        after initialDelay: TimeAmount,
        every delay: TimeAmount,
        _ body: @escaping () -> Void
    ) -> RepeatingTimer {
        preconditionInEventLoop()
        let timer = RepeatingTimer(on: self, every: delay, body)
        timer.arm(after: initialDelay)
        return timer
    }
}

/// Calls its body again and again until it is cancelled. Lives on its event loop.
///
/// A callback needs no promise for each turn, unlike a repeated task.
package final class RepeatingTimer: NIOScheduledCallbackHandler, @unchecked Sendable {
    private let eventLoop: any EventLoop
    private let interval: TimeAmount
    /// Nil once it is cancelled.
    private var body: (() -> Void)?
    private var next: NIOScheduledCallback?

    fileprivate init(on eventLoop: any EventLoop, every interval: TimeAmount, _ body: @escaping () -> Void) {
        self.eventLoop = eventLoop
        self.interval = interval
        self.body = body
    }

    /// Idempotent.
    package func cancel() {
        body = nil
        next?.cancel()
        next = nil
    }

    package func handleScheduledCallback(eventLoop: some EventLoop) {
        body?()
        arm(after: interval)
    }

    /// A loop that is shut down takes no callback: then there is nothing to repeat on.
    fileprivate func arm(after delay: TimeAmount) {
        guard body != nil else { return }
        next = try? eventLoop.scheduleCallback(at: eventLoop.now + delay, handler: self)
    }
}
