import KafkaClient
import PipelineCore

/// Last stage: the offset up to which everything has its outcome, and what is done beyond it.
extension WorkerShard {
    func commitIfDue(now: MonotonicTime) {
        guard nextCommit <= now, !isCommitting else { return }
        nextCommit = now + ShardLimits.commitInterval
        let offsets = positionsToCommit(of: Array(assigned.values))
        guard !offsets.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(offsets, completion: nil)
            isCommitting = true
        } catch {
            commitFailed(error)
        }
    }

    /// The broker's word on the last asynchronous commit.
    func committed(_ error: KafkaError?) {
        isCommitting = false
        if let error { commitFailed(error) } else { counters.commits += 1 }
    }

    /// Commits and waits for it: before partitions are given back.
    ///
    /// - Returns: what could not be committed. A broker may refuse commits while the group rebalances.
    func commitNow(_ partitions: [PartitionState]) -> [KafkaPartitionOffset] {
        // What is on its way may still be refused.
        if isCommitting { for partition in partitions { partition.committed = nil } }
        let offsets = positionsToCommit(of: partitions)
        guard !offsets.isEmpty else { return [] }
        do throws(KafkaError) {
            try consumer.commitSynchronously(offsets, timeoutMilliseconds: ShardLimits.commitTimeoutMilliseconds)
            counters.commits += 1
            return []
        } catch {
            commitFailed(error)
            return offsets
        }
    }

    private func positionsToCommit(of partitions: [PartitionState]) -> [KafkaPartitionOffset] {
        partitions.compactMap { partition in
            partition.trimSources()
            guard let position = partition.frontier.position(metadataLimitBytes: ShardLimits.metadataBytes),
                position != partition.committed
            else { return nil }
            partition.committed = position
            return KafkaPartitionOffset(
                topic: partition.topic,
                partition: partition.partition,
                offset: position.offset,
                metadata: position.metadata
            )
        }
    }

    private func commitFailed(_ error: KafkaError) {
        // What was not committed is committed by the next attempt, or sent again by who takes over: a duplicate, no loss.
        for partition in assigned.values { partition.committed = nil }
        logger.warning("commit failed", metadata: ["error": "\(error)"])
    }
}
