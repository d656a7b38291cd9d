import NIOCore

extension EventLoop {
    /// Calls `body` on this event loop, again and again; for owners that live on it. Called on the event loop.
    func repeating(
        after initialDelay: TimeAmount,
        every delay: TimeAmount,
        _ body: @escaping () -> Void
    ) -> RepeatedTask {
        let bound = NIOLoopBound(body, eventLoop: self)
        return scheduleRepeatedTask(initialDelay: initialDelay, delay: delay) { _ in bound.value() }
    }
}
