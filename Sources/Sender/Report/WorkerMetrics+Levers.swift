import BelfrySupport
import PipelineCore

extension WorkerMetrics {
    /// The levers that operators have set.
    static let levers: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_topic_paused",
            "1 while an operator has paused the app, per lane.",
            highest: .eachTopicInLane(.count { $0.control.isPaused ? 1 : 0 })
        ),
        .gauge(
            "belfry_topic_pace_notifications",
            "Most notifications of the app in a second, of all workers together, per lane; 0: no limit.",
            highest: .eachTopicInLane(.count { Int($0.control.notificationsPerSecond ?? 0) })
        ),
        .gauge(
            "belfry_levers",
            "Levers that are set in push.controls, by kind.",
            .counts(by: "lever") { report in
                AppControl.Lever.allCases.compactMap { lever in
                    report.levers?.counts[lever].map { (lever.rawValue, $0) }
                }
            }
        ),
        .gauge(
            "belfry_controls_age_seconds",
            "Since push.controls was last known to be read to its end.",
            .seconds(\.levers?.age)
        ),
    ]
}

extension Metric.Values where Report == WorkerReport {
    /// Series for each topic that needs a look, in each lane in which it was met.
    fileprivate static func eachTopicInLane(_ values: Metric<ShardReport.Topic>.Values) -> Self {
        each(\.shownTopics, labels: { .topic($0.bundleID, in: $0.environment) + .lane($0.lane) }, values)
    }
}
