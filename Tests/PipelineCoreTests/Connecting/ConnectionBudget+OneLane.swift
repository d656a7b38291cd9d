@testable import PipelineCore

extension ConnectionBudget {
    /// Takes a connection where one lane alone is in use.
    mutating func takeConnection(topic: UInt64, purpose: Purpose, now: MonotonicTime) -> MonotonicTime? {
        takeConnection(topic: topic, lane: .normal, purpose: purpose, now: now)
    }
}
