import Glibc
import Logging
import Synchronization

/// The log of this process, on standard error: limited in rate, and written by a thread of its own.
public enum ProcessLog {
    /// Nil before ``begin(level:)``: then nothing is logged.
    private static let writer = Mutex<LogWriter?>(nil)
    private static let level = LogLevelSwitch(.info)

    /// Longest wait for standard error when the process ends.
    public static let patience = LogLimits.flush

    /// Makes ``JSONLogHandler`` the process's log. Once per process, before the first logger is made.
    ///
    /// Lines that wait when the process ends by `exit` are written then, for at most ``LogLimits/flush``.
    public static func begin(level: LogLevel) {
        let gate = LogGate()
        let writer = LogWriter(
            output: StandardStream.error.write,
            tellLeftOut: { JSONLogHandler.line(unread: $0, unixMilliseconds: UTCTimestamp.now()) },
            takeMore: {
                gate.takeSilent().flatMap { JSONLogHandler.line($0, unixMilliseconds: UTCTimestamp.now()) }
            }
        )
        Self.writer.withLock { $0 = writer }
        use(level)
        LoggingSystem.bootstrap { label in
            JSONLogHandler(
                label: label,
                level: Self.level,
                gate: gate,
                output: writer.write,
                unixMilliseconds: UTCTimestamp.now
            )
        }
        atexit { ProcessLog.flush() }
    }

    /// Writes lines of this level and more severe ones from now on.
    static func use(_ level: LogLevel) { Self.level.value = Logger.Level(level) }

    /// Waits until everything logged so far is written, but not for ever: before something else is written to standard
    /// error that must stand behind it, and before the process ends.
    ///
    /// - Parameter isHurried: the operator does not want to wait.
    public static func flush(isHurried: Bool = false) {
        let limit = isHurried ? LogLimits.hurriedFlush : LogLimits.flush
        writer.withLock { $0 }?.flush(within: limit)
    }
}
