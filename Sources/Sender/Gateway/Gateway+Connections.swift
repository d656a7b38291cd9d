import PipelineCore

/// Tells the states of the connections, for operators.
extension Gateway {
    /// One report for each environment with topics, by name.
    func connectionReports() -> [ConnectionReport] {
        let now = now
        var reports: [String: ConnectionReport] = [:]
        for topic in all {
            let environment = topic.topic.environment
            var report = reports[environment] ?? ConnectionReport(environment: environment)
            if case .binary(let binary) = topic.way {
                for lane in binary.lanes { lane.countConnections(in: &report) }
            }
            reports[environment] = report
        }
        streams.countConnections(in: &reports, now: now)
        return reports.values.sorted { $0.environment < $1.environment }
    }
}

extension GatewayLane {
    fileprivate func countConnections(in report: inout ConnectionReport) {
        switch machine.phase {
        case .disconnected: break
        case .waiting: report.count(.waiting)
        case .connecting: report.count(.connecting)
        case .open: report.count(machine.isRetiring ? .draining : .open)
        }
        if let successor { report.count(successor.connection == nil ? .connecting : .open) }
    }
}

extension HTTP2Topics {
    /// Adds the connections that topics share.
    fileprivate func countConnections(in reports: inout [String: ConnectionReport], now: MonotonicTime) {
        for connections in all {
            let environment = connections.identity.environment
            var report = reports[environment] ?? ConnectionReport(environment: environment)
            for connection in connections.pool.connections {
                switch connection.phase {
                case .connecting: report.count(.connecting)
                case .open: report.count(.open)
                case .draining: report.count(.draining)
                }
            }
            if connections.pool.isWaiting(now: now) { report.count(.waiting) }
            reports[environment] = report
        }
        for (environment, reasons) in goAways {
            reports[environment, default: ConnectionReport(environment: environment)].goAways = reasons
        }
    }
}
