import PipelineCore

/// Bytes that the feeds of a shard, and refusals whose tombstones are not written, hold together; see
/// ``MemoryBudget``.
final class ShardMemory {
    private(set) var budget: MemoryBudget

    init(_ budget: MemoryBudget) {
        self.budget = budget
    }

    /// - Parameter forProbe: for a topic that is only probed.
    func takeBytes(_ bytes: Int, forProbe: Bool = false) {
        budget.takeBytes(bytes)
        if forProbe { budget.probedBytes += bytes }
    }

    func giveBack(_ bytes: Int) { budget.giveBack(bytes) }
    /// Allows as much as `limits` from now on; what is held stays counted.
    func use(_ limits: MemoryBudget) {
        budget.use(limitBytes: limits.limitBytes, topicLimitBytes: limits.topicLimitBytes)
    }
    func admits(_ account: AppAccount) -> Bool { budget.admits(topicBytes: account.bytes) }

    /// Sets the bytes of topics that are only probed. In between only those that they take are added.
    func setProbed(_ bytes: Int) { budget.probedBytes = bytes }
}
