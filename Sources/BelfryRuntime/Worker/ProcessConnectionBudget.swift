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
    func take(now: MonotonicTime, sparing: Bool) -> MonotonicTime? {
        budget.withLock { $0.take(now: now, sparing: sparing) }
    }
}
