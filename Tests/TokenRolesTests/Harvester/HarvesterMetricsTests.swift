import PipelineCore
import PushTopics
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import TokenRoles

/// Metrics and readiness of a harvester.
@Suite struct HarvesterMetricsTests {
    private func report() -> HarvesterReport {
        var counters = ListHarvest.Counters()
        counters.readings = 3
        counters.failures = [.cut: 2]
        counters.brokerAway = 4
        counters.leasesUnknown = 5
        counters.leasesRefused = 6
        counters.tuples = 100
        counters.acknowledged = 90
        counters.cutBytes = 7
        return HarvesterReport(
            lists: [
                .init(
                    bundleID: "com.example.news",
                    environment: "sandbox",
                    counters: counters,
                    step: .publishing,
                    holdsLease: true,
                    unacknowledged: 10,
                    age: .milliseconds(1500)
                )
            ],
            retries: 8,
            applied: .init(
                applied: 80,
                deadLetters: 1,
                refused: ["feedback-token-length": 1],
                recordsLost: 2,
                offsetsBeyondEnd: 3,
                corruptFetches: 4
            ),
            partitions: [.init(number: 3, lagRecords: 9), .init(number: 4, lagRecords: nil)],
            isRedisReady: true,
            isInGroup: true
        )
    }

    @Test(
        "Each figure an operator needs has its series",
        arguments: [
            "belfry_feedback_reading_age_seconds{L} 1.5", "belfry_feedback_readings_total{L} 3",
            "belfry_feedback_reading_failures_total{L,reason=\"cut\"} 2",
            "belfry_feedback_reading_failures_total{L,reason=\"silent\"} 0",
            "belfry_feedback_reading_failures_total{L,reason=\"broker-away\"} 4",
            "belfry_feedback_reading_failures_total{L,reason=\"redis-away\"} 5",
            "belfry_feedback_lease_refusals_total{L} 6", "belfry_feedback_lease_held{L} 1",
            "belfry_feedback_tuples_total{L} 100", "belfry_feedback_acknowledged_total{L} 90",
            "belfry_feedback_unacknowledged_tuples{L} 10", "belfry_feedback_cut_bytes_total{L} 7",
            "belfry_feedback_step{L,step=\"publishing\"} 1", "belfry_feedback_step{L,step=\"waiting\"} 0",
            "belfry_feedback_retries_total 8", "belfry_feedback_applied_total 80",
            "belfry_feedback_refused_total{reason=\"feedback-token-length\"} 1",
            "belfry_feedback_lag_records{partition=\"3\"} 9", "belfry_records_lost_total 2",
            "belfry_offsets_beyond_end_total 3", "belfry_corrupt_fetches_total 4",
        ]
    )
    func series(line: String) {
        let text = MetricsText.render(HarvesterMetrics.table.families(of: [report()]))
        let expected = line.replacing("L", with: "app=\"com.example.news\",environment=\"sandbox\"")
        #expect(text.split(separator: "\n").contains { $0 == expected }, "\(text)")
    }

    @Test("Promtool has nothing to say about a harvester's metrics")
    func promtool() throws {
        var measured = report()
        measured.serverTimes = [.init(roundTrips: .roundTrip, acknowledgements: .roundTrip)]
        let text = MetricsText.render(HarvesterMetrics.table.families(of: [measured]))
        #expect(text.contains("belfry_redis_round_trip_seconds_count 0\n"))
        #expect(try Promtool.complaints(about: text) == "")
    }

    @Test("Of many lists 200 have series of their own; of the others the one not read for longest is told")
    func bound() throws {
        var many = report()
        let list = try #require(many.lists.first)
        many.lists = (0..<300).map { number in
            var copy = list
            copy.bundleID = "com.example.app\(number)"
            copy.age = .seconds(number)
            return copy
        }
        let ages = try #require(HarvesterMetrics.table.families(of: [many]).first)
        #expect(ages.name == "belfry_feedback_reading_age_seconds" && ages.samples.count == 201)
        #expect(ages.samples.last?.value == 299 && ages.samples.last?.labels.first == .init("app", "other"))
    }

    @Test("The status tells the lists, that not read for longest first, and the partitions of push.feedback")
    func status() throws {
        var report = report()
        var older = try #require(report.lists.first)
        older.bundleID = "com.example.sport"
        older.age = .seconds(9)
        report.lists.append(older)
        var status = RoleStatus(role: "harvester", now: 0)
        report.describe("push.feedback", in: &status)
        #expect(status.harvests.map(\.topic) == ["com.example.sport", "com.example.news"])
        let list = RoleStatus.Harvest(
            topic: "com.example.news",
            environment: "sandbox",
            ageSeconds: 1.5,
            step: "publishing",
            holdsLease: true,
            unacknowledged: 10
        )
        #expect(status.harvests.last == list)
        #expect(status.partitions.map(\.lagRecords) == [9, nil] && status.partitions[0].kafkaTopic == "push.feedback")
        #expect(status.totals == ["tuples": 200, "applied": 80, "deadLetters": 1])
    }

    @Test("A harvester that has just started has its metrics, each once, and no samples")
    func justStarted() {
        let families = HarvesterMetrics.table.families(of: [])
        #expect(Set(families.map(\.name)).count == families.count)
        #expect(families.allSatisfy { $0.samples.isEmpty })
    }

    @Test("A harvester is ready when it runs, has Redis, and a place in its group")
    func readiness() {
        #expect(HarvesterRole.readiness([report()]).isReady)
        #expect(HarvesterRole.readiness([]).obstacles == ["the harvester is starting or stopping"])
        var away = report()
        away.isRedisReady = false
        #expect(HarvesterRole.readiness([away]).obstacles == ["the harvester waits for Redis"])
        var outside = report()
        outside.isInGroup = false
        #expect(HarvesterRole.readiness([outside]).obstacles == ["the harvester waits for its partitions"])
        #expect(HarvesterRole.obstacles([outside, away]).map(\.dependency) == [.kafka, .redis])
    }

    @Test("All in-sync replicas acknowledge feedback, whatever the operator's properties say")
    func acknowledgements() {
        var settings = KafkaSettings()
        settings.properties = [
            .init(name: "acks", value: "1"), .init(name: "request.required.acks", value: "1"),
            .init(name: "message.timeout.ms", value: "10"), .init(name: "client.rack", value: "a"),
        ]
        let properties = settings.feedbackProducerProperties(clientID: "test")
        #expect(properties["acks"] == "all")
        #expect(properties["request.required.acks"] == nil)
        #expect(properties["message.timeout.ms"] == "0")
        #expect(properties["client.rack"] == "a")
    }

    @Test("The read-ahead that Deploy/OPERATE.md states is that of the limits")
    func readAhead() {
        #expect(HarvestLimits.readAheadBytes == 148_074)
        #expect(HarvestLimits.readAheadBytes / 38 == 3_896)
    }
}
