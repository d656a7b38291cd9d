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
        if isCommitting { for partition in partitions { partition.forgetCommits() } }
        let offsets = positionsToCommit(of: partitions)
        guard !offsets.isEmpty else { return [] }
        do throws(KafkaError) {
            try consumer.commitSynchronously(offsets, timeoutMilliseconds: ShardLimits.commitTimeoutMilliseconds)
            counters.commits += 1
            return []
        } catch {
            commitFailed(error)
            // Source and parked positions belong together, also where only one of them had changed.
            for partition in partitions { partition.forgetCommits() }
            return positionsToCommit(of: partitions)
        }
    }

    /// What has changed since the last commit. What is done because its copy is parked, and where that copy is found, travel
    /// in one request.
    private func positionsToCommit(of partitions: [PartitionState]) -> [KafkaPartitionOffset] {
        partitions.filter { $0.lag == nil }.flatMap { partition in
            for lag in partition.parking.lags.values { lag.trimSources() }
            let parked = partition.parking.toCommit(metadataLimitBytes: settings.metadataBytes)
            let source = sourcePosition(of: partition, beside: parked)
            return [source, parked.flatMap { parkedPosition($0.position, of: partition) }].compactMap(\.self)
        }
    }

    /// Beside lag nothing is marked as done beyond the offset: it may be done because it was parked, and who takes over tells
    /// copies that count from orphans by the offset, see ``ParkedSegments``.
    private func sourcePosition(
        of partition: PartitionState,
        beside parked: PartitionParking.ToCommit?
    ) -> KafkaPartitionOffset? {
        partition.trimSources()
        let reached = partition.frontier.position(metadataLimitBytes: settings.metadataBytes)
        guard var position = reached ?? partition.startToCommit else { return nil }
        if let parked, !parked.position.metadata.isEmpty {
            position = .init(offset: min(position.offset, parked.sourceLimit ?? .max), metadata: "")
        }
        guard position != partition.committed else { return nil }
        partition.committed = position
        return KafkaPartitionOffset(
            topic: partition.topic,
            partition: partition.partition,
            offset: position.offset,
            metadata: position.metadata
        )
    }

    /// Once nothing is parked any more that is committed too; a position with lag is also committed again now and then.
    private func parkedPosition(
        _ position: CommitFrontier.Position,
        of partition: PartitionState
    ) -> KafkaPartitionOffset? {
        let isStale =
            !position.metadata.isEmpty && partition.parking.committedAt + ShardLimits.parkedCommitInterval <= now
        guard position != partition.parking.committed || isStale else { return nil }
        partition.parking.committed = position
        partition.parking.committedAt = now
        return KafkaPartitionOffset(
            parkedPlace(of: partition),
            offset: position.offset,
            metadata: position.metadata
        )
    }

    private func commitFailed(_ error: KafkaError) {
        // What was not committed is committed by the next attempt, or sent again by who takes over: a duplicate, no loss.
        for partition in assigned.values { partition.forgetCommits() }
        logger.warning("commit failed", metadata: ["error": "\(error)"])
    }
}

extension PartitionState {
    /// What was handed to a commit may not have been committed.
    fileprivate func forgetCommits() {
        committed = nil
        parking.committed = nil
    }
}
