import BelfrySupport
import PipelineCore

/// A registrar's report as metrics. The names are what dashboards and alerts rely on.
struct RegistrarMetrics {
    private typealias Label = MetricFamily.Label

    private var applied = MetricFamily(
        "belfry_registrar_applied_total",
        .counter,
        "Changes of the token state that Redis has acknowledged."
    )
    private var deadLetters = MetricFamily(
        "belfry_registrar_dead_letters_total",
        .counter,
        "Records that could not be used and are in push.dead-letters."
    )
    private var refused = MetricFamily(
        "belfry_registrar_refused_total",
        .counter,
        "Records that could not be used, by reason; what is consumed again counts again."
    )
    private var tombstones = MetricFamily(
        "belfry_registrar_tombstones_published_total",
        .counter,
        "Records of push.tombstones that the broker has acknowledged."
    )
    private var pending = MetricFamily(
        "belfry_registrar_unacknowledged_tombstones",
        .gauge,
        "Records of push.tombstones that the broker has not acknowledged."
    )
    private var kept = MetricFamily(
        "belfry_registrar_tombstones_kept_total",
        .counter,
        "Tombstones of push.tombstones, of tokens that a gateway called invalid, that Redis has acknowledged once more."
    )
    private var recordsLost = MetricFamily(
        "belfry_records_lost_total",
        .counter,
        "Records that retention deleted before they were applied."
    )
    private var beyondEnd = MetricFamily(
        "belfry_offsets_beyond_end_total",
        .counter,
        "Partitions found to end before their committed offset; they were applied from their beginning."
    )
    private var assigned = MetricFamily(
        "belfry_registrar_assigned_partitions",
        .gauge,
        "Partitions of push.registrations."
    )
    private var lag = MetricFamily(
        "belfry_registrar_lag_records",
        .gauge,
        "Records of push.registrations that have not been applied, by partition."
    )
    private var sweeping = MetricFamily(
        "belfry_retention_lease_held",
        .gauge,
        "1 while this registrar is the one that sweeps."
    )
    private var lookedAt = MetricFamily("belfry_retention_looked_at_total", .counter, "Tokens that a sweep looked at.")
    private var swept = MetricFamily("belfry_retention_swept_total", .counter, "Tokens removed, by kind.")
    private var spared = MetricFamily(
        "belfry_retention_spared_total",
        .counter,
        "Tokens judged old that changed before they were removed."
    )
    private var unreadable = MetricFamily(
        "belfry_retention_unreadable_total",
        .counter,
        "Records of a layout that is not known here."
    )
    private var completed = MetricFamily("belfry_retention_sweeps_total", .counter, "Sweeps over all servers.")
    private var lastCompleted = MetricFamily(
        "belfry_retention_last_sweep_timestamp_seconds",
        .gauge,
        "The end of the last sweep over all servers, UNIX seconds."
    )

    init(_ reports: [RegistrarReport]) {
        for report in reports {
            applied.add(report.applied.applied)
            deadLetters.add(report.applied.deadLetters)
            for (reason, count) in report.applied.refused.sorted(by: { $0.key < $1.key }) {
                refused.add(count, Label("reason", reason))
            }
            tombstones.add(report.applied.tombstones)
            kept.add(report.kept.applied)
            recordsLost.add(report.applied.recordsLost + report.kept.recordsLost)
            beyondEnd.add(report.applied.offsetsBeyondEnd + report.kept.offsetsBeyondEnd)
            pending.add(report.pendingTombstones)
            assigned.add(report.partitions.count)
            for partition in report.partitions {
                lag.addLag(partition.lagRecords, partition: partition.number)
            }
            if let sweep = report.sweep { add(sweep) }
        }
    }

    var families: [MetricFamily] {
        [
            applied, deadLetters, refused, tombstones, kept, recordsLost, beyondEnd, pending, assigned, lag, sweeping,
            lookedAt, swept, spared, unreadable, completed, lastCompleted,
        ]
    }

    private mutating func add(_ sweep: RegistrarReport.Sweep) {
        sweeping.add(sweep.hasLease ? 1 : 0)
        lookedAt.add(sweep.counters.lookedAt)
        for kind in RetentionRule.Verdict.allCases {
            swept.add(sweep.counters.swept[kind] ?? 0, Label("kind", kind.rawValue))
        }
        spared.add(sweep.counters.spared)
        unreadable.add(sweep.counters.unreadable)
        completed.add(sweep.counters.completed)
        if let seconds = sweep.counters.lastCompleted { lastCompleted.raise(to: Double(seconds)) }
    }
}
