import BelfrySupport
import PipelineCore

extension WorkerMetrics {
    /// The process's budget of new connections.
    static let budget: [Metric<WorkerReport>] = [
        .gauge(
            "belfry_connection_budget_left",
            "Connections that may be made again before the oldest of the last minute no longer counts.",
            .count { $0.connectionBudget?.left }
        ),
        .gauge(
            "belfry_connection_budget_waiting_topics",
            "Apps that wait for the budget, by the purpose of their connection.",
            .counts(by: "purpose") { report in
                report.connectionBudget.map { state in
                    ConnectionBudget.Purpose.allCases.compactMap { purpose in
                        state.waitingTopics[purpose].map { (purpose.name, $0) }
                    }
                } ?? []
            }
        ),
    ]
}

extension ConnectionBudget.Purpose {
    /// As in metrics.
    fileprivate var name: String {
        switch self {
        case .first: "first"
        case .reconnect: "reconnect"
        case .successor: "successor"
        case .probe: "probe"
        }
    }
}
