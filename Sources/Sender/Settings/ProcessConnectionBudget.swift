import PipelineCore
import Synchronization

/// The budget of new connections of the whole process. Shared under a lock, which costs nothing, because connecting is
/// rare.
final class ProcessConnectionBudget: Sendable {
    private let budget: Mutex<ConnectionBudget>

    init(perMinute: Int) {
        budget = Mutex(ConnectionBudget(perMinute: perMinute))
    }

    /// Allows another number of connections from now on. From any thread.
    func use(perMinute: Int) { budget.withLock { $0.use(perMinute: perMinute) } }

    /// From any thread.
    func state(now: MonotonicTime) -> ConnectionBudget.State { budget.withLock { $0.state(now: now) } }

    /// Takes one connection; nil if it was granted, else the time to ask again. From any thread.
    ///
    /// - Parameter topic: the topic's number, the same in every shard.
    func takeConnection(topic: UInt64, purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        budget.withLock { $0.takeConnection(topic: topic, purpose: purpose, now: now) }
    }
}
