import BelfrySupport
import PipelineCore

/// The metrics of a registrar. Dashboards and alerts rely on the names.
enum RegistrarMetrics {
    /// In the order of `/metrics`.
    static let table: [Metric<RegistrarReport>] = applying + ApplierMetrics.table + partitions + sweep

    private static let applying: [Metric<RegistrarReport>] = [
        .counter(
            "belfry_registrar_applied_total",
            "Changes of the token state that Redis has acknowledged.",
            .count(\.applied.applied)
        ),
        .counter(
            "belfry_registrar_dead_letters_total",
            "Records that could not be used and are in push.dead-letters.",
            .count(\.applied.deadLetters)
        ),
        .counter(
            "belfry_registrar_refused_total",
            "Records that could not be used, by reason; what is consumed again counts again.",
            .refusedRecords
        ),
        .counter(
            "belfry_registrar_tombstones_published_total",
            "Records of push.tombstones that the broker has acknowledged.",
            .count(\.applied.tombstones)
        ),
        .counter(
            "belfry_registrar_tombstones_kept_total",
            "Tombstones of push.tombstones, of tokens that a gateway called invalid, that Redis has acknowledged once more.",
            .count(\.kept.applied)
        ),
    ]

    private static let partitions: [Metric<RegistrarReport>] = [
        .gauge(
            "belfry_registrar_unacknowledged_tombstones",
            "Records of push.tombstones that the broker has not acknowledged.",
            .count(\.pendingTombstones)
        ),
        .gauge(
            "belfry_registrar_assigned_partitions",
            "Partitions of push.registrations.",
            .count(\.partitions.count)
        ),
        .gauge(
            "belfry_registrar_lag_records",
            "Records of push.registrations that have not been applied, by partition.",
            .lagRecords
        ),
    ]

    private static let sweep: [Metric<RegistrarReport>] = [
        .gauge(
            "belfry_retention_lease_held",
            "1 while this registrar is the one that sweeps.",
            .flag(\.sweep?.hasLease)
        ),
        .counter(
            "belfry_retention_looked_at_total",
            "Tokens that a sweep looked at.",
            .count(\.sweep?.counters.lookedAt)
        ),
        .counter(
            "belfry_retention_swept_total",
            "Tokens removed, by kind.",
            .counts(by: "kind") { report in
                guard let swept = report.sweep?.counters.swept else { return [] }
                return RetentionRule.Verdict.allCases.map { ($0.rawValue, swept[$0] ?? 0) }
            }
        ),
        .counter(
            "belfry_retention_spared_total",
            "Tokens judged old that changed before they were removed.",
            .count(\.sweep?.counters.spared)
        ),
        .counter(
            "belfry_retention_unreadable_total",
            "Records of a layout that is not known here.",
            .count(\.sweep?.counters.unreadable)
        ),
        .counter(
            "belfry_retention_left_out_total",
            "Servers that a sweep went on without.",
            .count(\.sweep?.counters.leftOut)
        ),
        .counter(
            "belfry_retention_sweeps_total",
            "Sweeps over all servers.",
            .count(\.sweep?.counters.completed)
        ),
        .gauge(
            "belfry_retention_last_sweep_timestamp_seconds",
            "The end of the last sweep over all servers, UNIX seconds.",
            highest: .count { $0.sweep?.counters.lastCompleted.map(Int.init) }
        ),
    ]
}

extension RegistrarReport: ApplierReport {
    var appliers: [RecordApplier.Counters] { [applied, kept] }
}
