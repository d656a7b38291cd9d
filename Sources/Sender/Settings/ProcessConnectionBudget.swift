import PipelineCore
import RequestLanes
import Synchronization

/// The budget of new connections of the whole process, for all lanes. Shared under a lock, which costs nothing, because
/// connecting is rare.
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
    /// - Parameters:
    ///   - topic: the topic's number, the same in every shard.
    ///   - lane: the lane of the shard that asks.
    func takeConnection(
        topic: UInt64,
        lane: RequestLane,
        purpose: ConnectionBudget.Purpose,
        now: MonotonicTime
    ) -> MonotonicTime? {
        budget.withLock { $0.takeConnection(topic: topic, lane: lane, purpose: purpose, now: now) }
    }
}
