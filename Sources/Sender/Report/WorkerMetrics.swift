import APNsProtocol
import BelfrySupport
import PipelineCore
import PushSchemas
import RequestLanes

/// The metrics of a worker. Dashboards and alerts rely on the names.
enum WorkerMetrics {
    /// In the order of `/metrics`.
    static let table: [Metric<WorkerReport>] =
        progress + topics + cursors + levers + work + filter + publications + connections + ends + budget + times

    private static let progress: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_lag_records",
            "Records not behind the commit frontier, per lane and partition.",
            .eachPartitionByNumber { $0.lagRecords.map(Int.init) }
        ),
        .gauge(
            "belfry_oldest_unconfirmed_age_seconds",
            "Since the oldest notification without an outcome was taken in.",
            highest: .each(\.shards, .seconds { $0.oldestUnconfirmed ?? .zero })
        ),
        .gauge(
            "belfry_oldest_record_timestamp_seconds",
            "When the oldest record of a lane with a notification without an outcome was published, UNIX time.",
            lowest: .eachLane(.number { shard in shard.oldestPublishedAt.map { Double($0) / 1000 } })
        ),
        .gauge(
            "belfry_requests_retention_seconds",
            "How long the brokers keep push.requests, as they said when the worker started.",
            .seconds(\.retention)
        ),
        .gauge(
            "belfry_requests_retention_left_seconds",
            "Until retention may delete the oldest record with a notification without an outcome.",
            .seconds(\.retentionLeft)
        ),
        .gauge(
            "belfry_uncommitted_notifications",
            "Notifications taken in beyond the commit frontier.",
            .eachPartition(\.uncommitted)
        ),
        .gauge(
            "belfry_unacknowledged_publications",
            "Outcomes and dead letters that the broker has not acknowledged.",
            .eachShard(\.unacknowledged)
        ),
        .gauge(
            "belfry_barred_publications",
            "Publications that wait because the brokers refuse them, or their Kafka topic.",
            .eachShard(\.barred)
        ),
        .gauge(
            "belfry_coalescing_notifications",
            "Notifications that wait for newer ones of their coalescing key.",
            .eachShard(\.coalescing)
        ),
        .gauge(
            "belfry_waiting_records",
            "Offsets still to be read for apps that work, per lane and partition.",
            .eachPartitionByNumber { Int($0.waitingRecords) }
        ),
        .gauge(
            "belfry_assigned_partitions",
            "Partitions this process owns, per lane.",
            .eachLane(.count(\.partitions.count))
        ),
    ]

    private static let topics: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_in_flight_notifications",
            "Handed to gateway connections and not settled.",
            .eachTopic(.count(\.inFlight))
        ),
        .gauge(
            "belfry_waiting_notifications",
            "Encoded and waiting for a connection, or to be sent again.",
            .eachTopic(.count(\.waiting))
        ),
        .gauge("belfry_open_connections", "Gateway connections that are open.", .eachTopic(.count(\.openConnections))),
        .gauge(
            "belfry_topic_stopped",
            "1 while the app does not work and is probed, by reason.",
            highest: .eachTopic(.counts(by: "reason") { topic in topic.reason.map { [($0, 1)] } ?? [] })
        ),
        .gauge(
            "belfry_topic_lag_records",
            "Offsets between a lagging app's cursors and the ends of its partitions.",
            .eachTopic(.count { $0.lagRecords > 0 ? Int($0.lagRecords) : nil })
        ),
        .gauge(
            "belfry_topic_cursor_timestamp_seconds",
            "When the record at a lagging app's oldest cursor was published, UNIX time.",
            lowest: .eachTopic(.number { topic in topic.cursorPublishedAt.map { Double($0) / 1000 } })
        ),
        .gauge(
            "belfry_topic_held_bytes",
            "Memory of an app's records and notifications that are not done.",
            .eachTopic(.count(\.bytes))
        ),
    ]

    private static let cursors: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_topics_behind",
            "Apps fed again from their own cursors, per lane and partition.",
            .eachPartitionByNumber { $0.behind > 0 ? $0.behind : nil }
        ),
        .gauge(
            "belfry_commit_unnamed_topics",
            "Lagging apps without room in the commit metadata: they hold the offset, which costs repetitions after a crash.",
            .eachPartition(\.unnamed)
        ),
        .gauge(
            "belfry_standing_partitions",
            "Partitions that are not read: their commit is missing, or its metadata is not understood.",
            .eachPartition { $0.isStanding ? 1 : 0 }
        ),
    ]

    private static let work: [Metric<WorkerReport>] = [
        .counter(
            "belfry_unreadable_token_states_total",
            "Tokens whose state in Redis cannot be understood; they are sent to without it.",
            .eachShard(\.counters.unreadableStates)
        ),
        .gauge(
            "belfry_certificate_expiry_timestamp_seconds",
            "UNIX time at which the app's certificate ends.",
            lowest: .each(
                \.shownCertificates,
                labels: { .topic($0.bundleID, in: $0.environment) },
                .count { Int($0.notAfter) }
            )
        ),
        .counter(
            "belfry_provider_tokens_total",
            "Provider tokens minted, by team and key.",
            .each(\.providerTokens, labels: { .providerKey($0.key) }, .count { Int($0.minted) })
        ),
        .gauge(
            "belfry_provider_token_issued_timestamp_seconds",
            "UNIX time in the latest provider token, by team and key.",
            .each(\.providerTokens, labels: { .providerKey($0.key) }, .count { Int($0.issuedAt) })
        ),
        .counter("belfry_records_total", "Records taken in.", .eachShard(\.counters.records)),
        .counter("belfry_notifications_total", "Notifications taken in.", .eachShard(\.counters.notifications)),
        .counter("belfry_sent_total", "Notifications encoded for a connection.", .eachShard(\.counters.sent)),
        .counter(
            "belfry_sent_without_token_state_total",
            "Notifications encoded for a connection without a look at Redis, which was away.",
            .eachShard(\.counters.sentWithoutState)
        ),
        .counter(
            "belfry_token_lookups_total",
            "Tokens that Redis was asked for.",
            .eachShard(\.counters.lookUps)
        ),
    ]

    private static let filter: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_tombstone_filter_age_seconds",
            "How far the filter of dead tokens may be behind push.tombstones; absent until it is complete.",
            .seconds(\.filter?.age)
        ),
        .gauge(
            "belfry_tombstone_filter_entries",
            "Dead tokens that the filter holds.",
            .count(\.filter?.entries)
        ),
        .gauge(
            "belfry_tombstone_filter_bytes",
            "Memory that the filter of dead tokens takes.",
            .count(\.filter?.bytes)
        ),
        .gauge(
            "belfry_tombstone_filters_given_up",
            "Bundles without a filter of dead tokens, since it would take too much memory.",
            .count(\.filter?.givenUp)
        ),
    ]

    private static let publications: [Metric<WorkerReport>] = [
        .counter("belfry_dead_letters_total", "Dead letters acknowledged.", .eachShard(\.counters.deadLetters)),
        .counter(
            "belfry_cut_publications_total",
            "Publications of which less was published, because the brokers refused them.",
            .eachShard(\.counters.cut)
        ),
        .counter("belfry_commits_total", "Commits the broker acknowledged.", .eachShard(\.counters.commits)),
        .counter(
            "belfry_records_lost_total",
            "Records that retention deleted before they were read.",
            .eachShard(\.counters.recordsLost)
        ),
        .counter(
            "belfry_offsets_beyond_end_total",
            "Partitions found to end before their committed offset; they stand still.",
            .eachShard(\.counters.offsetsBeyondEnd)
        ),
        .counter(
            "belfry_corrupt_fetches_total",
            "Fetches whose bytes are no records, or have a wrong checksum.",
            .eachShard(\.counters.corruptFetches)
        ),
        .counter(
            "belfry_outcomes_total",
            "Notifications by outcome.",
            .each(
                \.shards,
                .counts(by: "kind") { shard in OutcomeKind.allCases.map { ($0.name, shard.counters.outcomes[$0]) } }
            )
        ),
    ]

    private static let connections: [Metric<WorkerReport>] = [
        .counter(
            "belfry_accepted_total",
            "Notifications that the gateway accepted, or is presumed to have.",
            .eachCountedTopic(.count(\.counters.accepted))
        ),
        .counter("belfry_connects_total", "Gateway connections made.", .eachCountedTopic(.count(\.counters.connects))),
        .counter(
            "belfry_disconnects_total",
            "Gateway connections ended, or not made, by reason.",
            .eachCountedTopic(
                .counts(by: "reason") { topic in
                    DisconnectReason.allCases.map { ($0.name, topic.counters.disconnects[$0.rawValue]) }
                }
            )
        ),
        .counter(
            "belfry_rotations_total",
            "Gateway connections that others replaced, by reason.",
            .eachCountedTopic(
                .counts(by: "reason") { topic in
                    ConnectionRotation.Reason.allCases.map { ($0.name, topic.counters.rotations[$0.rawValue]) }
                }
            )
        ),
        .counter(
            "belfry_error_responses_total",
            "Error responses by status.",
            .eachCountedTopic(
                .counts(by: "status") { topic in
                    topic.counters.errorResponses.sorted { $0.key < $1.key }.map { ("\($0)", $1) }
                }
            )
        ),
        .counter(
            "belfry_rejections_total",
            "Errors of the provider API by reason.",
            .eachCountedTopic(
                .counts(by: "reason") { topic in
                    topic.counters.reasons.sorted { $0.key < $1.key }.map { ($0, $1) }
                }
            )
        ),
        .counter(
            "belfry_resent_total",
            "Notifications handed to a connection that are to be sent again.",
            .eachCountedTopic(.count(\.counters.resent))
        ),
        .counter(
            "belfry_presumed_wrong_total",
            "Notifications presumed accepted that a late answer proved discarded.",
            .eachCountedTopic(.count(\.counters.presumedWrong))
        ),
        .counter(
            "belfry_probation_total",
            "Notifications to tokens not accepted before that went apart from others, since many were called invalid.",
            .eachCountedTopic(.count(\.counters.onProbation))
        ),
        .counter(
            "belfry_misplaced_records_total",
            "Records in partitions to which Kafka's default partitioner does not lead their keys.",
            .eachCountedTopic(.count(\.counters.misplaced))
        ),
        .counter(
            "belfry_urgent_moved_notifications_total",
            "Notifications moved from the lane urgent into the lane normal, over the quota of their app.",
            .eachCountedTopic(.count(\.counters.moved))
        ),
        .counter(
            "belfry_sensitive_notifications_total",
            "Notifications sent although their texts have a payment card or social-security number.",
            .eachCountedTopic(.count(\.counters.sensitive))
        ),
    ]

    private static let ends: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_gateway_connections",
            "Gateway connections by state.",
            .eachEnvironment(
                .counts(by: "state") { report in
                    ConnectionReport.State.allCases.map { ($0.rawValue, report.counts[$0] ?? 0) }
                }
            )
        ),
        .counter(
            "belfry_goaways_total",
            "GOAWAY frames of gateways by reason.",
            .eachEnvironment(
                .counts(by: "reason") { report in report.goAways.sorted { $0.key < $1.key }.map { ($0, $1) } }
            )
        ),
    ]

    private static let times: [Metric<WorkerReport>] = [
        .histogram(
            "belfry_publish_to_gateway_seconds",
            "From a record's timestamp to the hand-over of its notifications to TLS.",
            .eachWay(.histogram(\.handedOver))
        ),
        .histogram(
            "belfry_gateway_to_settled_seconds",
            "From the hand-over of notifications to their acceptance, or its presumption.",
            .eachWay(.histogram(\.settled))
        ),
        .histogram(
            "belfry_redis_round_trip_seconds",
            "From the sending of a command to the reply of Redis, of some commands.",
            .each(\.shards, .histogram(\.redisRoundTrips))
        ),
        .histogram(
            "belfry_kafka_acknowledgement_seconds",
            "From producing a record to the broker's acknowledgement, of some records.",
            .each(\.shards, .histogram(\.acknowledgements))
        ),
        .histogram(
            "belfry_tick_delay_seconds",
            "Lateness of a timer that each shard has fifty times a second: how long a record, or all of a turn, held it.",
            .each(\.shards, .histogram(\.tickLateness))
        ),
    ]
}

extension [MetricFamily.Label] {
    static func lane(_ lane: RequestLane) -> Self { [.init("lane", lane.rawValue)] }

    /// The labels of a key that signs provider tokens; both come from the names of files.
    fileprivate static func providerKey(_ id: ProviderKeyID) -> Self {
        [.init("team", id.team), .init("key", id.key)]
    }
}

extension Metric.Values where Report == WorkerReport {
    /// One series: the shards add up.
    fileprivate static func eachShard(_ count: @escaping @Sendable (ShardReport) -> Int?) -> Self {
        each(\.shards, .count(count))
    }

    /// One series: the partitions add up.
    fileprivate static func eachPartition(_ count: @escaping @Sendable (ShardReport.Partition) -> Int?) -> Self {
        each({ $0.shards.flatMap(\.partitions) }, .count(count))
    }

    /// A series for each lane that is served: its shards add up.
    fileprivate static func eachLane(_ values: Metric<ShardReport>.Values) -> Self {
        each(\.shards, labels: { .lane($0.lane) }, values)
    }

    /// A series for each partition of a lane.
    fileprivate static func eachPartitionByNumber(
        _ count: @escaping @Sendable (ShardReport.Partition) -> Int?
    ) -> Self {
        each({ $0.shards.flatMap(\.partitions) }, labels: { .lane($0.lane) + .partition($0.number) }, .count(count))
    }

    /// Series for each topic that needs a look: those of several shards add up.
    static func eachTopic(_ values: Metric<ShardReport.Topic>.Values) -> Self {
        each(\.shownTopics, labels: { .topic($0.bundleID, in: $0.environment) }, values)
    }

    /// Series for each topic whose counters have a name: those of several shards add up.
    fileprivate static func eachCountedTopic(_ values: Metric<ShardReport.Topic>.Values) -> Self {
        each(\.countedTopics, labels: { .topic($0.bundleID, in: $0.environment) }, values)
    }

    /// Series for each environment: those of several shards add up.
    fileprivate static func eachEnvironment(_ values: Metric<ConnectionReport>.Values) -> Self {
        each({ $0.shards.flatMap(\.connections) }, labels: { [.init("environment", $0.environment)] }, values)
    }

    /// Series for each lane, transport and class of topics with notifications: those of several shards add up.
    fileprivate static func eachWay(_ values: Metric<DeliveryTimes.Series>.Values) -> Self {
        .eachLane(
            .each(
                \.times.series,
                labels: { [.init("transport", $0.transport.rawValue), .init("class", $0.topicClass.rawValue)] },
                values
            )
        )
    }
}
