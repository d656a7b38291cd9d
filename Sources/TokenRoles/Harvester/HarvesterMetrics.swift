import BelfrySupport
import PipelineCore

/// The metrics of a harvester. Dashboards and alerts rely on the names.
enum HarvesterMetrics {
    /// In the order of `/metrics`.
    static let table: [Metric<HarvesterReport>] = reading + leases + applying + ApplierMetrics.table + [lag]

    private static let reading: [Metric<HarvesterReport>] = [
        .gauge(
            "belfry_feedback_reading_age_seconds",
            "Since the list was read to its end, or since the start.",
            highest: .eachList(.seconds(\.age))
        ),
        .counter(
            "belfry_feedback_readings_total",
            "Readings that reached the list's end.",
            .eachList(.count(\.counters.readings))
        ),
        .counter(
            "belfry_feedback_reading_failures_total",
            "Readings that did not reach the list's end, or did not begin, by reason.",
            .eachList(
                .counts(by: "reason") { list in
                    HarvestStateMachine.Failure.allCases.map { ($0.rawValue, list.counters.failures[$0] ?? 0) }
                        + [("broker-away", list.counters.brokerAway), ("redis-away", list.counters.leasesUnknown)]
                }
            )
        ),
        .counter("belfry_feedback_tuples_total", "Tuples read.", .eachList(.count(\.counters.tuples))),
        .counter(
            "belfry_feedback_acknowledged_total",
            "Tuples that the broker has acknowledged.",
            .eachList(.count(\.counters.acknowledged))
        ),
        .gauge(
            "belfry_feedback_unacknowledged_tuples",
            "Tuples read that the broker has not acknowledged.",
            .eachList(.count(\.unacknowledged))
        ),
        .counter(
            "belfry_feedback_retries_total",
            "Tuples published again, for the broker refused them.",
            .count(\.retries)
        ),
        .counter(
            "belfry_feedback_cut_bytes_total",
            "Bytes of tuples that the end of a stream cut off.",
            .eachList(.count(\.counters.cutBytes))
        ),
    ]

    private static let leases: [Metric<HarvesterReport>] = [
        .gauge(
            "belfry_feedback_lease_held",
            "1 while this process holds the list's lease.",
            .eachList(.flag(\.holdsLease))
        ),
        .counter(
            "belfry_feedback_lease_refusals_total",
            "Times another harvester held the list's lease.",
            .eachList(.count(\.counters.leasesRefused))
        ),
        .gauge(
            "belfry_feedback_step",
            "1 at the step at which the list stands.",
            .eachList(
                .counts(by: "step") { list in
                    HarvestStateMachine.Step.allCases.map { ($0.rawValue, $0 == list.step ? 1 : 0) }
                }
            )
        ),
    ]

    private static let applying: [Metric<HarvesterReport>] = [
        .counter(
            "belfry_feedback_applied_total",
            "Tuples applied to the token state.",
            .count(\.applied.applied)
        ),
        .counter(
            "belfry_feedback_refused_total",
            "Tuples that were not applied and became dead letters, by reason.",
            .refusedRecords
        ),
    ]

    private static let lag: Metric<HarvesterReport> = .gauge(
        "belfry_feedback_lag_records",
        "Records of push.feedback that have not been applied, by partition.",
        .lagRecords
    )
}

extension HarvesterReport: ApplierReport {
    var appliers: [RecordApplier.Counters] { [applied] }
}

extension Metric.Values where Report == HarvesterReport {
    /// Series for each list.
    fileprivate static func eachList(_ values: Metric<HarvesterReport.List>.Values) -> Self {
        each(\.namedLists, labels: { .topic($0.bundleID, in: $0.environment) }, values)
    }
}
