import KafkaClient
import PipelineCore

/// The shard's report for operators. On its event loop, like everything; off the path of notifications.
extension WorkerShard {
    func report() -> ShardReport {
        let group = stages.group
        return ShardReport(
            counters: stages.counters,
            partitions: group.assigned.values.sorted { $0.number < $1.number }.map(report)
                + group.standing.sorted().map(standing),
            topics: group.directory.accounts.compactMap(report),
            oldestUnconfirmed: group.assigned.values.flatMap { $0.feeds.values }.compactMap(\.oldestTakenAt).min()
                .map { $0.elapsed(until: now) },
            oldestPublishedAt: group.assigned.values.flatMap { $0.feeds.values }.compactMap(\.oldestPublishedAt).min(),
            unacknowledged: stages.outcomes.unacknowledged,
            coalescing: stages.coalescing.count,
            hasJoined: GroupReadiness.isReady(
                hasJoined: group.hasJoined,
                rejoiningSince: group.rejoiningSince,
                now: now
            ),
            // Where sending may go on without Redis, readiness does not wait for it.
            isTokenStateReady: settings.redisPatience == nil ? isRedisReady : nil,
            isDraining: isDraining
        )
    }

    private func report(_ partition: PartitionAssignment) -> ShardReport.Partition {
        let watermarks = stages.group.watermarks(of: partition)
        return ShardReport.Partition(
            number: partition.number,
            lagRecords: watermarks.map { max(0, $0.high - max(partition.cursor ?? 0, $0.low)) },
            uncommitted: partition.feeds.values.reduce(0) { $0 + $1.ledger.frontier.uncommitted },
            behind: partition.feeds.values.count { !$0.ledger.isLive },
            unnamed: stages.commits.unnamed[partition.number] ?? 0,
            isStanding: false
        )
    }

    private func standing(_ partition: Int32) -> ShardReport.Partition {
        ShardReport.Partition(
            number: partition,
            lagRecords: nil,
            uncommitted: 0,
            behind: 0,
            unnamed: 0,
            isStanding: true
        )
    }

    private func report(_ account: TopicAccount) -> ShardReport.Topic? {
        guard let topic = account.topic else { return nil }
        let lanes = stages.gateway.lanes(ofTopic: topic.index)
        return ShardReport.Topic(
            bundleID: topic.bundleID,
            environment: topic.environment,
            inFlight: lanes?.transport.inFlightCount ?? 0,
            waiting: lanes?.transport.waitingCount ?? 0,
            openConnections: lanes?.transport.openConnections ?? 0,
            reason: stages.hasCertificate(topic) ? topic.health.state.reason?.rawValue : "certificate-missing",
            bytes: account.bytes,
            lagRecords: lag(of: account),
            counters: lanes?.counters ?? WorkerTopicCounters()
        )
    }

    private func lag(of account: TopicAccount) -> Int64 {
        stages.group.active.reduce(0) { sum, partition in
            let cursors = partition.feeds.values.filter { $0.account === account && !$0.ledger.isLive }
                .compactMap(\.ledger.cursor)
            guard let cursor = cursors.min(), let end = stages.group.end(of: partition) else { return sum }
            return sum + max(0, end - cursor)
        }
    }
}
