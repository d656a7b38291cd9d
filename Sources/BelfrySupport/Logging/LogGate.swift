import NIOCore
import PipelineCore
import Synchronization

/// The ``LogRateLimiter`` of the process, for all threads.
final class LogGate: Sendable {
    private let limiter: Mutex<LogRateLimiter>
    private let now: @Sendable () -> MonotonicTime

    init(
        _ limiter: LogRateLimiter = LogRateLimiter(),
        now: @escaping @Sendable () -> MonotonicTime = { MonotonicTime(NIODeadline.now()) }
    ) {
        self.limiter = Mutex(limiter)
        self.now = now
    }

    func judge(_ kind: LogRateLimiter.Kind) -> LogRateLimiter.Verdict {
        let now = now()
        return limiter.withLock { $0.judge(kind, now: now) }
    }

    func takeSilent() -> [LogRateLimiter.LeftOut] {
        let now = now()
        return limiter.withLock { $0.takeSilent(now: now) }
    }
}
