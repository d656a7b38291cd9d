/// The metrics that every role has about its process. Those without `belfry_` have the names that dashboards of
/// processes know from the clients of Prometheus.
enum ProcessMetrics {
    struct Report: Sendable {
        /// Nil: the system does not tell.
        var figures: ProcessFigures?
        var role: String
        var version = BelfryVersion.text
    }

    /// In the order of `/metrics`.
    static let table: [Metric<Report>] = [
        .gauge(
            "belfry_build_info",
            "1, with the role and the version of the program.",
            .each({ [$0] }, labels: { [.init("role", $0.role), .init("version", $0.version)] }, .count { _ in 1 })
        ),
        .gauge(
            "process_resident_memory_bytes",
            "Memory of the process that is in RAM.",
            .count(\.figures?.residentBytes)
        ),
        .gauge(
            "process_virtual_memory_bytes",
            "Address space of the process.",
            .count(\.figures?.virtualBytes)
        ),
        .counter(
            "process_cpu_seconds_total",
            "User and system time of the process.",
            .number(\.figures?.cpuSeconds)
        ),
        .gauge("process_open_fds", "Open file descriptors.", .count { $0.figures?.openDescriptors }),
        .gauge("process_max_fds", "Most file descriptors that may be open.", .count { $0.figures?.mostDescriptors }),
        .gauge("process_threads", "Threads of the process.", .count(\.figures?.threads)),
        .gauge(
            "process_start_time_seconds",
            "Start of the process, UNIX time.",
            .number(\.figures?.startedAt)
        ),
    ]
}
