import PipelineCore
import Synchronization

/// The budget of new connections of the whole process. Shards share nothing else: connecting is rare, so that a lock
/// costs nothing.
final class ProcessConnectionBudget: Sendable {
    private let budget: Mutex<ConnectionBudget>

    init(perMinute: Int) {
        budget = Mutex(ConnectionBudget(perMinute: perMinute))
    }

    /// Takes one; nil if it was granted, else when to ask again. From any thread.
    ///
    /// - Parameter topic: names it, the same in every shard.
    func take(topic: UInt64, purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        budget.withLock { $0.take(topic: topic, purpose: purpose, now: now) }
    }
}
