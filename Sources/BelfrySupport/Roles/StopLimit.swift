import Dispatch
import Glibc
import Logging
import Synchronization

/// Ends a process whose role does not come to its end after it began to stop.
///
/// Each step of a stop has a limit of its own. This one is for steps that were not foreseen, as a call into a library
/// that never returns: without it the process would stay, in no group and of no use, until its supervisor kills it.
/// Beside that of its threads it needs nothing of the role.
final class StopLimit: Sendable {
    private let overdue: @Sendable (Duration) -> Void
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    /// - Parameter overdue: called once, on a thread of its own, when the limit has passed.
    init(overdue: @escaping @Sendable (_ limit: Duration) -> Void) {
        self.overdue = overdue
    }

    /// Ends the process with exit code 1.
    convenience init(logger: Logger) {
        self.init { limit in
            logger.critical("role did not end in time after it was to stop", metadata: ["limit": "\(limit)"])
            Self.exit("the role did not end within \(limit) after it was to stop: ends at once")
        }
    }

    deinit { timer.withLock { $0?.cancel() } }

    /// The role begins to stop. The first call counts.
    func begin(_ limit: Duration) {
        timer.withLock { timer in
            guard timer == nil else { return }
            let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "belfry.stop-limit"))
            source.schedule(deadline: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
            source.setEventHandler { [overdue] in overdue(limit) }
            source.activate()
            timer = source
        }
    }

    /// Ends the process at once.
    static func exit(_ words: String) -> Never {
        ProcessLog.flush(isHurried: true)
        StandardStream.error.write(Array("belfry: \(words)\n".utf8), within: LogLimits.hurriedFlush)
        _exit(EXIT_FAILURE)
    }
}
