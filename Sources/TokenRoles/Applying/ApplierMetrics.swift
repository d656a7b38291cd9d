import BelfrySupport

/// The report of a role that applies a Kafka topic to the token state.
protocol ApplierReport: Sendable {
    var applied: RecordApplier.Counters { get }
    /// Of the Kafka topic that is applied.
    var partitions: [RecordApplier.Partition] { get }
    /// The counters of every applier that the role has.
    var appliers: [RecordApplier.Counters] { get }
    /// Of every applier that the role has.
    var serverTimes: [RecordApplier.ServerTimes] { get }
}

/// The metrics that have one name in every role with appliers.
enum ApplierMetrics<Report: ApplierReport> {
    static var table: [Metric<Report>] {
        [
            .counter(
                "belfry_records_lost_total",
                "Records that retention deleted before they were applied.",
                .each(\.appliers, .count(\.recordsLost))
            ),
            .counter(
                "belfry_offsets_beyond_end_total",
                "Partitions found to end before their committed offset; they were applied from their beginning.",
                .each(\.appliers, .count(\.offsetsBeyondEnd))
            ),
            .counter(
                "belfry_corrupt_fetches_total",
                "Fetches whose bytes are no records, or have a wrong checksum.",
                .each(\.appliers, .count(\.corruptFetches))
            ),
            .gauge(
                "belfry_barred_publications",
                "Publications that wait because the brokers refuse them, or their Kafka topic.",
                .each(\.appliers, .count(\.barred))
            ),
            .counter(
                "belfry_cut_publications_total",
                "Publications of which less was published, because the brokers refused them.",
                .each(\.appliers, .count(\.cut))
            ),
            .histogram(
                "belfry_redis_round_trip_seconds",
                "From the sending of a command to the reply of Redis, of some commands.",
                .each(\.serverTimes, .histogram(\.roundTrips))
            ),
            .histogram(
                "belfry_kafka_acknowledgement_seconds",
                "From producing a record to the broker's acknowledgement, of some records.",
                .each(\.serverTimes, .histogram(\.acknowledgements))
            ),
        ]
    }
}

extension Metric.Values where Report: ApplierReport {
    /// Records that could not be used, by reason.
    static var refusedRecords: Self {
        counts(by: "reason") { report in report.applied.refused.sorted { $0.key < $1.key }.map { ($0, $1) } }
    }

    /// Records that have not been applied, by partition.
    static var lagRecords: Self {
        each(\.partitions, labels: { .partition($0.number) }, .count { $0.lagRecords.map(Int.init) })
    }
}
