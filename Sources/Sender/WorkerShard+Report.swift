import BelfrySupport
import KafkaClient
import PipelineCore

/// The shard's report for operators. On its event loop, like everything; off the path of notifications.
extension WorkerShard {
    func report() -> ShardReport {
        let group = stages.group
        let feeds = FeedSums(group)
        return ShardReport(
            lane: settings.lane,
            counters: stages.counters,
            partitions: group.assigned.values.sorted { $0.number < $1.number }.map(report)
                + group.standing.sorted { $0.key < $1.key }.map(standing),
            topics: group.directory.accounts.compactMap { report($0, feeds) },
            oldestUnconfirmed: group.assigned.values.flatMap { $0.feeds.values }.compactMap(\.oldestTakenAt).min()
                .map { $0.elapsed(until: now) },
            oldestPublishedAt: group.assigned.values.flatMap { $0.feeds.values }.compactMap(\.unfinishedPublishedAt)
                .min(),
            unacknowledged: stages.outcomes.unacknowledged,
            barred: stages.outcomes.barred + stages.publisher.barredCount,
            coalescing: stages.coalescing.count,
            hasJoined: group.isInGroup,
            // Readiness does not wait for Redis if sending may go on without it.
            isTokenStateReady: settings.redisPatience == nil ? isRedisReady : nil,
            isDraining: isDraining,
            times: stages.gateway.times,
            redisRoundTrips: clients.redis?.roundTrips,
            acknowledgements: clients.producer.acknowledgements,
            tickLateness: tickLateness,
            connections: stages.gateway.connectionReports()
        )
    }

    private func report(_ partition: PartitionAssignment) -> ShardReport.Partition {
        let watermarks = stages.group.watermarks(of: partition)
        return ShardReport.Partition(
            lane: settings.lane,
            number: partition.number,
            lagRecords: watermarks.map { max(0, $0.high - max(partition.cursor ?? 0, $0.low)) },
            uncommitted: partition.feeds.values.reduce(0) { $0 + $1.ledger.frontier.uncommitted },
            behind: partition.feeds.values.count { !$0.ledger.isLive },
            unnamed: stages.commits.unnamed[partition.number] ?? 0,
            isStanding: false,
            waitingRecords: waitingRecords(in: partition, end: watermarks?.high)
        )
    }

    private func waitingRecords(in partition: PartitionAssignment, end: Int64?) -> Int64 {
        let unread = end.flatMap { end in partition.liveNext.map { max(0, end - $0) } } ?? 0
        // The catch-up reader goes through the stretch once for all topics that lag in it.
        // With a pace it takes its time, whatever the number of workers.
        let gaps = partition.feeds.values.filter { $0.account.feeding == .all && $0.account.pace == nil }
            .compactMap(\.ledger.gap)
        guard let first = gaps.map(\.next).min(), let last = gaps.map(\.last).max() else { return unread }
        return unread + max(0, last + 1 - first)
    }

    private func standing(_ partition: Int32, for reason: ShardReport.Standing) -> ShardReport.Partition {
        ShardReport.Partition(
            lane: settings.lane,
            number: partition,
            lagRecords: nil,
            uncommitted: 0,
            behind: 0,
            unnamed: 0,
            isStanding: true,
            standsFor: reason
        )
    }

    private func report(_ account: AppAccount, _ feeds: FeedSums) -> ShardReport.Topic? {
        guard let topic = account.topic else { return nil }
        let lanes = stages.gateway.lanes(ofTopic: topic.index)
        let sum = feeds[account]
        var counters = lanes?.counters ?? WorkerAppCounters()
        counters.sensitive = stages.intake.sensitive[topic.index] ?? 0
        counters.moved = stages.outcomes.moved[topic.index] ?? 0
        counters.misplaced = stages.placement?.misplaced[topic.index] ?? 0
        return ShardReport.Topic(
            lane: settings.lane,
            bundleID: topic.bundleID,
            environment: topic.environment,
            inFlight: lanes?.transport.inFlightCount ?? 0,
            waiting: lanes?.transport.waitingCount ?? 0,
            openConnections: lanes?.transport.openConnections ?? 0,
            reason: stages.hasCertificate(topic) ? topic.health.state.reason?.rawValue : "certificate-missing",
            bytes: account.bytes,
            lagRecords: sum.lagRecords,
            cursors: sum.cursors,
            cursorPublishedAt: sum.cursorPublishedAt,
            oldestUnconfirmed: sum.oldestTakenAt.map { $0.elapsed(until: now) },
            counters: counters,
            levers: stages.levers.controlsByLane(of: topic)
        )
    }
}
