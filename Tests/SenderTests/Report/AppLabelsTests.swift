import Testing

@testable import BelfrySupport
@testable import ProviderCredentials
@testable import Sender

/// The choice of the topics that have label values of their own.
@Suite struct AppLabelsTests {
    private func topic(
        _ number: Int,
        accepted: Int = 0,
        lag: Int64 = 0,
        reason: String? = nil
    ) -> ShardReport.Topic {
        var counters = WorkerAppCounters()
        counters.accepted = accepted
        return .init(
            bundleID: "com.example.app\(number)",
            environment: "sandbox",
            inFlight: 1,
            waiting: 0,
            openConnections: 0,
            reason: reason,
            bytes: 0,
            lagRecords: lag,
            counters: counters
        )
    }

    private func bundleIDs(_ names: some Sequence<AppLabels.Name>) -> [String] { names.map(\.bundleID) }

    @Test("Gauges name what stopped, then what lags most, then what is busiest")
    func shown() {
        var labels = AppLabels(limit: 4)
        labels.choose([
            topic(1, accepted: 9), topic(2, lag: 5), topic(3, accepted: 10), topic(4, reason: "unreachable"),
            topic(5, lag: 6), topic(6),
        ])
        #expect(bundleIDs(labels.shown) == [4, 5, 2, 3].map { "com.example.app\($0)" })
    }

    @Test("A topic's counters keep the name under which they were shown first, whatever others do later")
    func counted() {
        var labels = AppLabels(limit: 2)
        labels.choose([topic(1, accepted: 5), topic(2), topic(3)])
        #expect(bundleIDs(labels.namedInCounters) == ["com.example.app1"])
        labels.choose([topic(1, accepted: 5), topic(2, accepted: 1), topic(3, accepted: 100)])
        let named = Set(bundleIDs(labels.namedInCounters))
        #expect(named == ["com.example.app1", "com.example.app3"], "the busiest gets the room")
        labels.choose([topic(1, accepted: 5), topic(2, accepted: 9000), topic(3, accepted: 100)])
        #expect(Set(bundleIDs(labels.namedInCounters)) == named)
    }

    @Test("While there is room every topic has its name, also before it has counted anything")
    func room() {
        var labels = AppLabels(limit: 2)
        labels.choose([topic(1), topic(2)])
        #expect(labels.namedInCounters.count == 2)
        labels.choose([topic(1), topic(2), topic(3)])
        #expect(labels.namedInCounters.isEmpty, "none of them has counted anything")
    }

    @Test("Of 2,000 topics 200 have series of their own, the sum of the others is one, and nothing is counted twice")
    func bound() {
        let topics = (0..<2000).map { topic($0, accepted: $0, lag: Int64($0)) }
        let shard = ShardReport(
            counters: WorkerCounters(),
            partitions: [],
            topics: topics,
            oldestUnconfirmed: nil,
            oldestPublishedAt: nil,
            unacknowledged: 0,
            coalescing: 0,
            hasJoined: true,
            isTokenStateReady: nil,
            isDraining: false
        )
        let families = WorkerMetrics.table.families(of: [WorkerReport(shards: [shard])])
        for name in ["belfry_accepted_total", "belfry_in_flight_notifications", "belfry_topic_lag_records"] {
            let samples = families.first { $0.name == name }?.samples ?? []
            #expect(samples.count == 201, "\(name)")
            #expect(samples.count { $0.labels.contains(.init("app", "other")) } == 1)
        }
        let accepted = families.first { $0.name == "belfry_accepted_total" }?.samples.reduce(0) { $0 + $1.value }
        #expect(accepted == Double(topics.reduce(0) { $0 + $1.counters.accepted }))
        let most = families.map(\.samples.count).max() ?? 0
        #expect(most <= 201 * DisconnectReason.allCases.count)
    }

    @Test("Of many certificates those that end first have names, and the others tell their earliest end")
    func certificates() {
        let certificates = (0..<300).map {
            CertificateStore.Certificate(bundleID: "com.example.app\($0)", environment: "sandbox", notAfter: Int64($0))
        }
        let report = WorkerReport(shards: [], certificates: certificates.reversed())
        let families = WorkerMetrics.table.families(of: [report])
        let samples = families.first { $0.name == "belfry_certificate_expiry_timestamp_seconds" }?.samples ?? []
        #expect(samples.count == 201 && samples.last?.value == 200)
        #expect(samples.last?.labels.first == .init("app", "other"))
    }
}
