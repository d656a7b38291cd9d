import KafkaClient
import PipelineCore

/// What the shard tells those who operate it. On its event loop, like all else; nothing here is on the way of a
/// notification.
extension WorkerShard {
    func report() -> ShardReport {
        ShardReport(
            counters: counters,
            partitions: assigned.values.sorted { $0.partition < $1.partition }.map(report),
            topics: senders.senders.map(report),
            oldestUnconfirmed: assigned.values.compactMap(\.oldestTakenAt).min().map { $0.elapsed(until: now) },
            unacknowledged: publications.count,
            coalescing: coalescing.count,
            hasJoined: hasJoined,
            // Where it is gone on without, nobody need wait for it.
            isTokenStateReady: settings.redisPatience == nil ? redis?.isReady : nil,
            isDraining: isDraining
        )
    }

    private func report(_ partition: PartitionState) -> ShardReport.Partition {
        let place = KafkaTopicPartition(topic: partition.topic, partition: partition.partition)
        let watermarks = consumer.cachedWatermarks(place)
        let next = partition.frontier.frontierOffset ?? partition.startOffset
        return ShardReport.Partition(
            number: partition.partition,
            lagRecords: watermarks.map { max(0, $0.high - max(next, $0.low)) },
            uncommitted: partition.frontier.uncommitted,
            parkedRecords: partition.parking.rest
        )
    }

    private func report(_ sender: TopicSender) -> ShardReport.Topic {
        let lanes = sender.lanes
        return ShardReport.Topic(
            bundleID: sender.bundleID,
            environment: sender.environment,
            inFlight: lanes.reduce(0) { $0 + $1.machine.inFlightCount },
            waiting: lanes.reduce(0) { $0 + $1.machine.waitingCount },
            openConnections: lanes.reduce(0) { $0 + ($1.machine.phase == .open ? 1 : 0) },
            isParked: !sender.breaker.isClosed,
            counters: sender.counters
        )
    }
}
