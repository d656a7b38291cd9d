import PipelineCore

/// The topic's part in the connections that it shares.
extension StreamLane {
    /// Keeps those for the bundle itself warm. Push types with another credential have theirs when they are sent.
    func keepWarm(now: MonotonicTime) { connections?.keepWarm(now: now) }

    /// Topics that share connections wait together, while none of them has room.
    var isWaitingForBudget: Bool {
        guard queue.inFlightCount == 0, queue.waitingCount > 0, queue.admission != .none else { return false }
        return nextWaitsForBudget(now: topics.now)
    }

    /// The next notification waits for a connection of the budget. Other credentials do not matter to it.
    func nextWaitsForBudget(now: MonotonicTime) -> Bool {
        nextConnections(now: now)?.pool.isWaitingForBudget ?? false
    }
}
