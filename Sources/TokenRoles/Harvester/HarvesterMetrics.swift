import BelfrySupport
import PipelineCore

/// A harvester's report as metrics. The names are what dashboards and alerts rely on.
struct HarvesterMetrics {
    private typealias Label = MetricFamily.Label

    private var age = MetricFamily(
        "belfry_feedback_reading_age_seconds",
        .gauge,
        "Since the list was read to its end, or since the start."
    )
    private var readings = MetricFamily(
        "belfry_feedback_readings_total",
        .counter,
        "Readings that reached the list's end."
    )
    private var failures = MetricFamily(
        "belfry_feedback_reading_failures_total",
        .counter,
        "Readings that did not reach the list's end, or did not begin, by reason."
    )
    private var tuples = MetricFamily("belfry_feedback_tuples_total", .counter, "Tuples read.")
    private var acknowledged = MetricFamily(
        "belfry_feedback_acknowledged_total",
        .counter,
        "Tuples that the broker has acknowledged."
    )
    private var unacknowledged = MetricFamily(
        "belfry_feedback_unacknowledged_tuples",
        .gauge,
        "Tuples read that the broker has not acknowledged."
    )
    private var retries = MetricFamily(
        "belfry_feedback_retries_total",
        .counter,
        "Tuples published again, for the broker refused them."
    )
    private var cut = MetricFamily(
        "belfry_feedback_cut_bytes_total",
        .counter,
        "Bytes of tuples that the end of a stream cut off."
    )
    private var lease = MetricFamily(
        "belfry_feedback_lease_held",
        .gauge,
        "1 while this process holds the list's lease."
    )
    private var leasesRefused = MetricFamily(
        "belfry_feedback_lease_refusals_total",
        .counter,
        "Times another harvester held the list's lease."
    )
    private var step = MetricFamily("belfry_feedback_step", .gauge, "1 at the step at which the list stands.")
    private var applied = MetricFamily("belfry_feedback_applied_total", .counter, "Tuples applied to the token state.")
    private var refused = MetricFamily(
        "belfry_feedback_refused_total",
        .counter,
        "Tuples that were not applied and became dead letters, by reason."
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
    private var lag = MetricFamily(
        "belfry_feedback_lag_records",
        .gauge,
        "Records of push.feedback that have not been applied, by partition."
    )

    init(_ reports: [HarvesterReport]) {
        for report in reports {
            for list in report.lists { add(list) }
            retries.add(report.retries)
            applied.add(report.applied.applied)
            for (reason, count) in report.applied.refused.sorted(by: { $0.key < $1.key }) {
                refused.add(count, Label("reason", reason))
            }
            recordsLost.add(report.applied.recordsLost)
            beyondEnd.add(report.applied.offsetsBeyondEnd)
            for partition in report.partitions {
                lag.addLag(partition.lagRecords, partition: partition.number)
            }
        }
    }

    var families: [MetricFamily] {
        [
            age, readings, failures, tuples, acknowledged, unacknowledged, retries, cut, lease, leasesRefused, step,
            applied, refused, recordsLost, beyondEnd, lag,
        ]
    }

    private mutating func add(_ list: HarvesterReport.List) {
        let labels = [Label("topic", list.bundleID), Label("environment", list.environment)]
        let counters = list.counters
        age.add(Double(list.age.wholeNanoseconds) / 1e9, labels)
        readings.add(Double(counters.readings), labels)
        for reason in HarvestStateMachine.Failure.allCases {
            failures.add(Double(counters.failures[reason] ?? 0), labels + [Label("reason", reason.rawValue)])
        }
        failures.add(Double(counters.brokerAway), labels + [Label("reason", "broker-away")])
        failures.add(Double(counters.leasesUnknown), labels + [Label("reason", "redis-away")])
        tuples.add(Double(counters.tuples), labels)
        acknowledged.add(Double(counters.acknowledged), labels)
        unacknowledged.add(Double(list.unacknowledged), labels)
        cut.add(Double(counters.cutBytes), labels)
        lease.add(list.holdsLease ? 1 : 0, labels)
        leasesRefused.add(Double(counters.leasesRefused), labels)
        for step in HarvestStateMachine.Step.allCases {
            self.step.add(step == list.step ? 1 : 0, labels + [Label("step", step.rawValue)])
        }
    }
}
