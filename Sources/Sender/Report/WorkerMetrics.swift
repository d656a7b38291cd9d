import BelfrySupport
import PipelineCore

/// The reports of a worker's shards as metrics. Dashboards and alerts rely on the names.
struct WorkerMetrics {
    private typealias Label = MetricFamily.Label

    private var lag = MetricFamily(
        "belfry_lag_records",
        .gauge,
        "Records not behind the commit frontier, per partition."
    )
    private var age = MetricFamily(
        "belfry_oldest_unconfirmed_age_seconds",
        .gauge,
        "Since the oldest notification without an outcome was taken in."
    )
    private var oldestRecord = MetricFamily(
        "belfry_oldest_record_timestamp_seconds",
        .gauge,
        "When the oldest record with a notification without an outcome was published, UNIX time."
    )
    private var retention = MetricFamily(
        "belfry_requests_retention_seconds",
        .gauge,
        "How long the brokers keep push.requests, as they said when the worker started."
    )
    private var uncommitted = MetricFamily(
        "belfry_uncommitted_notifications",
        .gauge,
        "Notifications taken in beyond the commit frontier."
    )
    private var unacknowledged = MetricFamily(
        "belfry_unacknowledged_publications",
        .gauge,
        "Outcomes and dead letters that the broker has not acknowledged."
    )
    private var coalescing = MetricFamily(
        "belfry_coalescing_notifications",
        .gauge,
        "Notifications that wait for newer ones of their coalescing key."
    )
    private var partitions = MetricFamily("belfry_assigned_partitions", .gauge, "Partitions this process owns.")
    private var inFlight = MetricFamily(
        "belfry_in_flight_notifications",
        .gauge,
        "Handed to gateway connections and not settled."
    )
    private var waiting = MetricFamily(
        "belfry_waiting_notifications",
        .gauge,
        "Encoded and waiting for a connection, or to be sent again."
    )
    private var open = MetricFamily("belfry_open_connections", .gauge, "Gateway connections that are open.")
    private var stopped = MetricFamily(
        "belfry_topic_stopped",
        .gauge,
        "1 while the topic does not work and is probed, by reason."
    )
    private var topicLag = MetricFamily(
        "belfry_topic_lag_records",
        .gauge,
        "Offsets between a lagging topic's cursors and the ends of its partitions."
    )
    private var topicBytes = MetricFamily(
        "belfry_topic_held_bytes",
        .gauge,
        "Memory of a topic's records and notifications that are not done."
    )
    private var behind = MetricFamily(
        "belfry_topics_behind",
        .gauge,
        "Topics fed again from their own cursors, per partition."
    )
    private var unnamed = MetricFamily(
        "belfry_commit_unnamed_topics",
        .gauge,
        "Lagging topics without room in the commit metadata: they hold the offset, which costs repetitions after a crash."
    )
    private var standing = MetricFamily(
        "belfry_standing_partitions",
        .gauge,
        "Partitions that stand because their commit metadata is not understood."
    )
    private var unreadable = MetricFamily(
        "belfry_unreadable_token_states_total",
        .counter,
        "Tokens whose state in Redis cannot be understood; they are sent to without it."
    )
    private var expiry = MetricFamily(
        "belfry_certificate_expiry_timestamp_seconds",
        .gauge,
        "UNIX time at which the topic's certificate ends."
    )
    private var records = MetricFamily("belfry_records_total", .counter, "Records taken in.")
    private var notifications = MetricFamily("belfry_notifications_total", .counter, "Notifications taken in.")
    private var sent = MetricFamily("belfry_sent_total", .counter, "Notifications encoded for a connection.")
    private var sentWithoutState = MetricFamily(
        "belfry_sent_without_token_state_total",
        .counter,
        "Notifications encoded for a connection without a look at Redis, which was away."
    )
    private var lookUps = MetricFamily("belfry_token_lookups_total", .counter, "Tokens that Redis was asked for.")
    private var filterAge = MetricFamily(
        "belfry_tombstone_filter_age_seconds",
        .gauge,
        "How far the filter of dead tokens may be behind push.tombstones; absent until it is complete."
    )
    private var filterEntries = MetricFamily(
        "belfry_tombstone_filter_entries",
        .gauge,
        "Dead tokens that the filter holds."
    )
    private var filterBytes = MetricFamily(
        "belfry_tombstone_filter_bytes",
        .gauge,
        "Memory that the filter of dead tokens takes."
    )
    private var filtersGivenUp = MetricFamily(
        "belfry_tombstone_filters_given_up",
        .gauge,
        "Bundles without a filter of dead tokens, since it would take too much memory."
    )
    private var deadLetters = MetricFamily("belfry_dead_letters_total", .counter, "Dead letters acknowledged.")
    private var commits = MetricFamily("belfry_commits_total", .counter, "Commits the broker acknowledged.")
    private var recordsLost = MetricFamily(
        "belfry_records_lost_total",
        .counter,
        "Records that retention deleted before they were read."
    )
    private var beyondEnd = MetricFamily(
        "belfry_offsets_beyond_end_total",
        .counter,
        "Partitions found to end before their committed offset; they stand still."
    )
    private var outcomes = MetricFamily("belfry_outcomes_total", .counter, "Notifications by outcome.")
    private var connects = MetricFamily("belfry_connects_total", .counter, "Gateway connections made.")
    private var disconnects = MetricFamily(
        "belfry_disconnects_total",
        .counter,
        "Gateway connections ended, or not made, by reason."
    )
    private var responses = MetricFamily("belfry_error_responses_total", .counter, "Error responses by status.")
    private var resent = MetricFamily(
        "belfry_resent_total",
        .counter,
        "Notifications handed to a connection that are to be sent again."
    )
    private var probation = MetricFamily(
        "belfry_probation_total",
        .counter,
        "Notifications to tokens not accepted before that went apart from others, since many were called invalid."
    )
    private var presumedWrong = MetricFamily(
        "belfry_presumed_wrong_total",
        .counter,
        "Notifications presumed accepted that a late answer proved discarded."
    )

    /// The filter of dead tokens.
    struct Filter: Sendable, Equatable {
        /// The time since the filter was last complete; nil: it is not.
        var age: Duration?
        var entries: Int
        var bytes: Int
        /// Bundles whose filter was given up.
        var givenUp: Int
    }

    /// - Parameter retention: the retention of push.requests; nil: for ever, or not known.
    init(
        _ reports: [ShardReport],
        certificates: [CertificateStore.Certificate],
        filter: Filter? = nil,
        retention: Duration? = nil
    ) {
        if let retention { self.retention.raise(to: Double(retention.wholeNanoseconds) / 1e9) }
        if let published = reports.compactMap(\.oldestPublishedAt).min() {
            oldestRecord.raise(to: Double(published) / 1000)
        }
        if let filter {
            filterEntries.add(filter.entries)
            filterBytes.add(filter.bytes)
            filtersGivenUp.add(filter.givenUp)
            if let age = filter.age { filterAge.raise(to: Double(age.wholeNanoseconds) / 1e9) }
        }
        for certificate in certificates {
            expiry.add(
                certificate.notAfter,
                Label("topic", certificate.bundleID),
                Label("environment", certificate.environment)
            )
        }
        for report in reports { add(report) }
    }

    var families: [MetricFamily] {
        [
            lag, age, oldestRecord, retention, uncommitted, unacknowledged, coalescing, partitions, inFlight, waiting,
            open, stopped, topicLag,
            topicBytes,
            behind, unnamed, standing, unreadable, expiry, records,
            notifications, sent, sentWithoutState, lookUps, filterAge, filterEntries, filterBytes, filtersGivenUp,
            deadLetters, commits, recordsLost, beyondEnd, outcomes, connects,
            disconnects,
            responses, resent,
            presumedWrong, probation,
        ]
    }

    private mutating func add(_ report: ShardReport) {
        for partition in report.partitions {
            lag.addLag(partition.lagRecords, partition: partition.number)
            uncommitted.add(partition.uncommitted)
            if partition.behind > 0 { behind.add(partition.behind, Label("partition", "\(partition.number)")) }
            unnamed.add(partition.unnamed)
            standing.add(partition.isStanding ? 1 : 0)
        }
        age.raise(to: report.oldestUnconfirmed.map { Double($0.wholeNanoseconds) / 1e9 } ?? 0)
        unacknowledged.add(report.unacknowledged)
        coalescing.add(report.coalescing)
        partitions.add(report.partitions.count)
        records.add(report.counters.records)
        notifications.add(report.counters.notifications)
        sent.add(report.counters.sent)
        unreadable.add(report.counters.unreadableStates)
        sentWithoutState.add(report.counters.sentWithoutState)
        lookUps.add(report.counters.lookUps)
        deadLetters.add(report.counters.deadLetters)
        commits.add(report.counters.commits)
        recordsLost.add(report.counters.recordsLost)
        beyondEnd.add(report.counters.offsetsBeyondEnd)
        for kind in OutcomeKind.allCases { outcomes.add(report.counters.outcomes[kind], Label("kind", kind.name)) }
        for topic in report.topics { add(topic) }
    }

    private mutating func add(_ topic: ShardReport.Topic) {
        let name = Label("topic", topic.bundleID)
        let environment = Label("environment", topic.environment)
        inFlight.add(topic.inFlight, name, environment)
        waiting.add(topic.waiting, name, environment)
        open.add(topic.openConnections, name, environment)
        if let reason = topic.reason { stopped.raise(to: 1, name, environment, Label("reason", reason)) }
        if topic.lagRecords > 0 { topicLag.add(topic.lagRecords, name, environment) }
        topicBytes.add(topic.bytes, name, environment)
        connects.add(topic.counters.connects, name, environment)
        for reason in DisconnectReason.allCases {
            disconnects.add(
                topic.counters.disconnects[reason.rawValue],
                name,
                environment,
                Label("reason", reason.name)
            )
        }
        for (status, count) in topic.counters.errorResponses.sorted(by: { $0.key < $1.key }) {
            responses.add(count, name, environment, Label("status", "\(status)"))
        }
        resent.add(topic.counters.resent, name, environment)
        presumedWrong.add(topic.counters.presumedWrong, name, environment)
        probation.add(topic.counters.onProbation, name, environment)
    }
}
