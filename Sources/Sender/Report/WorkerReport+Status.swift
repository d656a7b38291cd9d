import BelfrySupport
import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes

/// The worker's part of `/status`.
extension WorkerReport {
    /// - Parameters:
    ///   - rate: of records taken in.
    ///   - settings: the environments, as configured.
    ///   - names: of the Kafka topics.
    func describe(
        _ rate: RateMeter.Rate,
        settings: [EnvironmentSettings],
        names: TopicNames,
        in status: inout RoleStatus
    ) {
        let now = status.now.unixSeconds
        let partitions = shards.flatMap(\.partitions).sorted { ($0.lane, $0.number) < ($1.lane, $1.number) }
        status.partitions = partitions.map { describePartition($0, of: names.requests($0.lane)) }
        describeTopics(in: &status)
        status.controlsAgeSeconds = levers?.age.map { $0 / .seconds(1) }
        status.gateways = settings.map(describeGateways)
        status.certificates = certificates.sorted { $0.notAfter < $1.notAfter }.prefix(AppLabels.limit).map {
            .init(topic: $0.bundleID, environment: $0.environment, notAfter: $0.notAfter, now: now)
        }
        status.keys = providerTokens.map {
            .init(
                team: $0.key.team,
                key: $0.key.key,
                tokenAgeSeconds: max(0, now - Double($0.issuedAt))
            )
        }
        status.totals = [
            "records": sum(\.records), "notifications": sum(\.notifications), "sent": sum(\.sent),
            "deadLetters": sum(\.deadLetters), "commits": sum(\.commits),
            "misplacedRecords": shards.reduce(0) { $0 + $1.topics.reduce(0) { $0 + $1.counters.misplaced } },
        ]
        for kind in OutcomeKind.allCases {
            status.outcomes[kind.name] = shards.reduce(0) { $0 + $1.counters.outcomes[kind] }
        }
        status.delivery = delivery
        status.scaling = .init(
            waitingRecords: partitions.reduce(0) { $0 + $1.waitingRecords },
            recordsPerSecond: rate.perSecond,
            ratePeriodSeconds: rate.period / .seconds(1),
            partitions: partitions.count
        )
    }

    private func sum(_ counter: KeyPath<WorkerCounters, Int>) -> Int {
        shards.reduce(0) { $0 + $1.counters[keyPath: counter] }
    }

    private func describePartition(
        _ partition: ShardReport.Partition,
        of kafkaTopic: String
    ) -> RoleStatus.Partition {
        var described = RoleStatus.Partition(
            kafkaTopic: kafkaTopic,
            number: partition.number,
            lagRecords: partition.lagRecords
        )
        described.waitingRecords = partition.waitingRecords
        described.behindTopics = partition.behind
        described.isStanding = partition.isStanding
        return described
    }

    private func describeTopics(in status: inout RoleStatus) {
        var described: [AppLabels.Name: RoleStatus.Topic] = [:]
        for topic in shards.flatMap(\.topics) {
            let name = AppLabels.Name(topic)
            let empty = RoleStatus.Topic(topic: topic.bundleID, environment: topic.environment)
            described[name, default: empty].add(topic, now: status.now.unixSeconds)
        }
        status.topics = labels.shown.compactMap { described[$0] }
        status.omittedTopics = described.count - status.topics.count
    }

    private func describeGateways(of environment: EnvironmentSettings) -> RoleStatus.Environment {
        let reports = shards.flatMap(\.connections).filter { $0.environment == environment.name }
        let counts = ConnectionReport.State.allCases.map { state in
            (state.rawValue, reports.reduce(0) { $0 + ($1.counts[state] ?? 0) })
        }
        return .init(
            environment: environment.name,
            transport: environment.transport.rawValue,
            addresses: environment.gateways.map(\.description),
            connections: Dictionary(uniqueKeysWithValues: counts)
        )
    }
}

extension RoleStatus.Topic {
    /// Adds what a shard tells of the topic.
    ///
    /// - Parameter now: UNIX seconds.
    fileprivate mutating func add(_ topic: ShardReport.Topic, now: Double) {
        stoppedBecause = stoppedBecause ?? topic.reason
        lagRecords += topic.lagRecords
        cursors = (cursors + topic.cursors).sorted { ($0.partition, $0.lane ?? "") < ($1.partition, $1.lane ?? "") }
        if let publishedAt = topic.cursorPublishedAt {
            cursorAgeSeconds = max(cursorAgeSeconds ?? 0, now - Double(publishedAt) / 1000)
        }
        if let oldest = topic.oldestUnconfirmed {
            oldestUnconfirmedSeconds = max(oldestUnconfirmedSeconds ?? 0, oldest / .seconds(1))
        }
        for (lane, control) in topic.levers { add(control, in: lane) }
        inFlight += topic.inFlight
        waiting += topic.waiting
        openConnections += topic.openConnections
        heldBytes += topic.bytes
        accepted += topic.counters.accepted
    }

    /// Adds the levers that hold in a lane. Of several paces the highest tells most, of several discards the latest.
    private mutating func add(_ control: AppControl, in lane: RequestLane) {
        if control.isPaused {
            isPaused = true
            pausedLanes = Self.lanes(pausedLanes, and: lane)
        }
        if let rate = control.notificationsPerSecond {
            pace = max(pace ?? 0, Int(rate))
            pacedLanes = Self.lanes(pacedLanes, and: lane)
        }
        if let discard = control.discard {
            let earlier = discardsBefore?.unixSeconds ?? 0
            discardsBefore = .init(unixSeconds: max(earlier, Double(discard.publishedBefore) / 1000))
            discardingLanes = Self.lanes(discardingLanes, and: lane)
        }
    }

    /// These lanes and one more, in their order.
    private static func lanes(_ names: [String]?, and lane: RequestLane) -> [String] {
        RequestLane.allCases.map(\.rawValue).filter { $0 == lane.rawValue || names?.contains($0) == true }
    }
}
