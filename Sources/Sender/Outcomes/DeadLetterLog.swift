import Logging
import PipelineCore
import PushTopics

/// Tells of dead letters in the log, so that a request is found there by its id: some at `info`, all at `debug`.
struct DeadLetterLog {
    private static let message: Logger.Message = "request is dead-lettered"

    private let logger: Logger
    private var budget = LineBudget(burst: 100, perSecond: 10, now: MonotonicTime(nanoseconds: 0))
    /// The latest tick.
    private var now = MonotonicTime(nanoseconds: 0)

    init(logger: Logger) {
        self.logger = logger
    }

    mutating func tick(now: MonotonicTime) { self.now = now }

    /// A dead letter was acknowledged.
    ///
    /// - Parameter origin: reads the record again; nil: it is done.
    mutating func tell(
        _ tokens: Publication.DeadTokens,
        status: UInt16,
        reason: String,
        _ origin: @autoclosure () -> RereadRecord?
    ) {
        let passedOver = budget.take(now: now)
        let level: Logger.Level = passedOver == nil ? .debug : .info
        guard logger.logLevel <= level, let origin = origin() else { return }
        var metadata = origin.coordinates
        metadata["reason"] = .string(reason)
        if status > 0 { metadata["status"] = .stringConvertible(status) }
        if case .some(let runs) = tokens { metadata["tokens"] = .stringConvertible(runs.count) }
        if let passedOver, passedOver > 0 { metadata["passed-over"] = .stringConvertible(passedOver) }
        logger.log(level: level, Self.message, metadata: metadata)
    }
}
