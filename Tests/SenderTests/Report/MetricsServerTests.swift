import APNsProtocol
import RequestLanes
import Testing

@testable import BelfrySupport
@testable import PipelineCore
@testable import PipelineTestSupport
@testable import ProviderCredentials
@testable import Sender

@Suite struct MetricsServerTests {
    private func report(status: UInt16 = 8) -> ShardReport {
        var counters = WorkerCounters()
        counters.notifications = 5
        counters.unreadableStates = 6
        counters.sentWithoutState = 4
        counters.outcomes.count(.duplicate)
        counters.outcomes.count(.confirmed)
        counters.outcomes.count(.deadLettered)
        var topic = WorkerAppCounters()
        topic.connects = 2
        topic.count(.errorResponse)
        topic.errorResponses[status] = 1
        return ShardReport(
            counters: counters,
            partitions: [
                .init(number: 3, lagRecords: 7, uncommitted: 4, behind: 2, unnamed: 5, isStanding: false),
                .init(number: 4, lagRecords: nil, uncommitted: 0, behind: 0, unnamed: 0, isStanding: true),
            ],
            topics: [
                .init(
                    bundleID: "com.example.news",
                    environment: "sandbox",
                    inFlight: 3,
                    waiting: 1,
                    openConnections: 2,
                    reason: "topic-refused",
                    bytes: 12,
                    lagRecords: 10,
                    counters: topic
                )
            ],
            oldestUnconfirmed: .milliseconds(1500),
            oldestPublishedAt: 1_700_000_000_500,
            unacknowledged: 2,
            coalescing: 6,
            hasJoined: true,
            isTokenStateReady: true,
            isDraining: false
        )
    }

    private func text(_ report: WorkerReport) -> String {
        MetricsText.render(WorkerMetrics.table.families(of: [report]))
    }

    private func lines(_ shards: [ShardReport], filter: WorkerReport.Filter? = nil) -> [String] {
        let certificate = CertificateStore.Certificate(
            bundleID: "com.example.news",
            environment: "sandbox",
            notAfter: 9
        )
        var report = WorkerReport(shards: shards, certificates: [certificate], filter: filter)
        if let key = ProviderKeyID(team: "T", key: "K") {
            report.providerTokens = [.init(key: key, minted: 2, issuedAt: 5)]
        }
        report.connectionBudget = .init(left: 7, waitingTopics: [.reconnect: 2, .successor: 1, .probe: 0])
        return text(report).split(separator: "\n").map(String.init)
    }

    @Test(
        "Each figure an operator needs has its series",
        arguments: [
            "belfry_lag_records{lane=\"normal\",partition=\"3\"} 7",
            "belfry_oldest_unconfirmed_age_seconds 1.5",
            "belfry_oldest_record_timestamp_seconds{lane=\"normal\"} 1700000000.5",
            "belfry_uncommitted_notifications 4",
            "belfry_topics_behind{lane=\"normal\",partition=\"3\"} 2",
            "belfry_commit_unnamed_topics 5",
            "belfry_standing_partitions 1",
            "belfry_unreadable_token_states_total 6",
            "belfry_unacknowledged_publications 2",
            "belfry_coalescing_notifications 6",
            "belfry_assigned_partitions{lane=\"normal\"} 2",
            "belfry_in_flight_notifications{app=\"com.example.news\",environment=\"sandbox\"} 3",
            "belfry_topic_stopped{app=\"com.example.news\",environment=\"sandbox\",reason=\"topic-refused\"} 1",
            "belfry_topic_lag_records{app=\"com.example.news\",environment=\"sandbox\"} 10",
            "belfry_topic_held_bytes{app=\"com.example.news\",environment=\"sandbox\"} 12",
            "belfry_connects_total{app=\"com.example.news\",environment=\"sandbox\"} 2",
            "belfry_disconnects_total{app=\"com.example.news\",environment=\"sandbox\",reason=\"error-response\"} 1",
            "belfry_disconnects_total{app=\"com.example.news\",environment=\"sandbox\",reason=\"shutdown\"} 0",
            "belfry_error_responses_total{app=\"com.example.news\",environment=\"sandbox\",status=\"8\"} 1",
            "belfry_resent_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_presumed_wrong_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_probation_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_misplaced_records_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_urgent_moved_notifications_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_sensitive_notifications_total{app=\"com.example.news\",environment=\"sandbox\"} 0",
            "belfry_outcomes_total{kind=\"dead_lettered\"} 1",
            "belfry_outcomes_total{kind=\"duplicate\"} 1",
            "belfry_sent_without_token_state_total 4",
            "belfry_provider_tokens_total{team=\"T\",key=\"K\"} 2",
            "belfry_provider_token_issued_timestamp_seconds{team=\"T\",key=\"K\"} 5",
            "belfry_certificate_expiry_timestamp_seconds{app=\"com.example.news\",environment=\"sandbox\"} 9",
            "belfry_connection_budget_left 7",
            "belfry_connection_budget_waiting_topics{purpose=\"reconnect\"} 2",
            "belfry_connection_budget_waiting_topics{purpose=\"probe\"} 0",
        ]
    )
    func series(line: String) {
        #expect(lines([report()]).contains(line))
    }

    @Test("Shards are added up, but the age is that of the oldest")
    func sums() {
        var younger = report()
        younger.oldestUnconfirmed = .milliseconds(200)
        let text = lines([younger, report(), younger])
        #expect(text.contains("belfry_notifications_total 15"))
        #expect(text.contains("belfry_oldest_unconfirmed_age_seconds 1.5"))
        #expect(text.contains("belfry_open_connections{app=\"com.example.news\",environment=\"sandbox\"} 6"))
    }

    @Test("Of records without an outcome the oldest in any shard counts, beside how long brokers keep records")
    func retention() {
        var older = report()
        older.oldestPublishedAt = 1_600_000_000_000
        var done = report()
        done.oldestPublishedAt = nil
        let worker = WorkerReport(shards: [report(), older, done], retention: .seconds(86_400))
        let lines = text(worker).split(separator: "\n").map(String.init)
        #expect(lines.contains("belfry_oldest_record_timestamp_seconds{lane=\"normal\"} 1600000000"))
        #expect(lines.contains("belfry_requests_retention_seconds 86400"))
        let unknown = text(WorkerReport(shards: [done]))
        #expect(!unknown.contains("\nbelfry_oldest_record_timestamp_seconds{"))
        #expect(!unknown.contains("\nbelfry_requests_retention_seconds "))
        #expect(!unknown.contains("\nbelfry_requests_retention_left_seconds "))
    }

    @Test("The time until retention reaches the oldest record is told where both are known, be it over")
    func retentionLeft() {
        func left(_ shard: ShardReport, _ retention: Duration?, now: Int64) -> Duration? {
            WorkerReport(shards: [shard], retention: retention, unixMilliseconds: now).retentionLeft
        }
        let now: Int64 = 1_700_000_060_500
        #expect(left(report(), .seconds(100), now: now) == .seconds(40))
        #expect(left(report(), .seconds(50), now: now) == .seconds(-10))
        #expect(left(report(), nil, now: now) == nil)
        var done = report()
        done.oldestPublishedAt = nil
        #expect(left(done, .seconds(100), now: now) == nil)
        let lines = text(WorkerReport(shards: [report()], retention: .seconds(100), unixMilliseconds: now))
        #expect(lines.contains("\nbelfry_requests_retention_left_seconds 40\n"))
    }

    @Test("Each lane has series of its own, in which its shards add up")
    func lanes() {
        var urgent = report()
        urgent.lane = .urgent
        for index in urgent.partitions.indices { urgent.partitions[index].lane = .urgent }
        urgent.oldestPublishedAt = 1_700_000_001_000
        urgent.times.noteHandOver(3, age: .milliseconds(3), over: .http2, .live)
        let lines = lines([report(), report(), urgent])
        for line in [
            #"belfry_lag_records{lane="normal",partition="3"} 14"#,
            #"belfry_lag_records{lane="urgent",partition="3"} 7"#,
            #"belfry_assigned_partitions{lane="normal"} 4"#, #"belfry_assigned_partitions{lane="urgent"} 2"#,
            #"belfry_oldest_record_timestamp_seconds{lane="normal"} 1700000000.5"#,
            #"belfry_oldest_record_timestamp_seconds{lane="urgent"} 1700000001"#,
            #"belfry_publish_to_gateway_seconds_count{lane="normal",transport="http2",class="live"} 0"#,
            #"belfry_publish_to_gateway_seconds_count{lane="urgent",transport="http2",class="live"} 3"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test("A pause is told of the lane in which it holds, and in which a shard has met the app")
    func pausedLanes() {
        var (bulk, normal) = (report(), report())
        bulk.topics[0].lane = .bulk
        for lane in [RequestLane.urgent, .bulk] { bulk.topics[0].levers[lane] = AppControl(isPaused: true) }
        normal.topics[0].levers = bulk.topics[0].levers
        let paused = lines([normal, bulk, bulk, normal]).filter { $0.hasPrefix("belfry_topic_paused{") }
        let topic = "app=\"com.example.news\",environment=\"sandbox\""
        #expect(
            paused == [
                "belfry_topic_paused{\(topic),lane=\"normal\"} 0", "belfry_topic_paused{\(topic),lane=\"bulk\"} 1",
            ]
        )
    }

    @Test("A pace is told of the lanes in which it holds: urgent has none that was not set for it")
    func pacedLanes() {
        var controls = AppControls()
        let name = AppControls.Name(environment: "sandbox", bundleID: "com.example.news")
        func paces() -> [String] {
            let shards = RequestLane.allCases.map { lane in
                var shard = report()
                shard.topics[0].lane = lane
                shard.topics[0].levers = controls.controlsByLane(of: name)
                return shard
            }
            let start = "belfry_topic_pace_notifications{app=\"com.example.news\",environment=\"sandbox\",lane="
            return lines(shards).filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
        }
        #expect(paces() == ["\"urgent\"} 0", "\"normal\"} 0", "\"bulk\"} 0"])
        controls.set(.pace, of: name, .pace(notificationsPerSecond: 50))
        #expect(paces() == ["\"urgent\"} 0", "\"normal\"} 50", "\"bulk\"} 50"])
        controls.set(.pace, of: name, in: .urgent, .pace(notificationsPerSecond: 7))
        #expect(paces() == ["\"urgent\"} 7", "\"normal\"} 50", "\"bulk\"} 50"])
    }

    @Test("A broker that keeps records for ever, or does not say for how long, gives no retention")
    func retentionSetting() {
        #expect(LogCheck.retention(["retention.ms": "604800000"]) == .seconds(604_800))
        #expect(LogCheck.retention(["retention.ms": "-1"]) == nil && LogCheck.retention([:]) == nil)
    }

    @Test("The filter of dead tokens tells its age once it has one, what it holds and takes, and what did not fit")
    func filter() {
        var filter = WorkerReport.Filter(age: nil, entries: 3, bytes: 4096, givenUp: 1)
        let lines = lines([report()], filter: filter)
        #expect(!lines.contains { $0.hasPrefix("belfry_tombstone_filter_age_seconds") })
        #expect(lines.contains("belfry_tombstone_filter_entries 3"))
        #expect(lines.contains("belfry_tombstone_filter_bytes 4096"))
        #expect(lines.contains("belfry_tombstone_filters_given_up 1"))
        filter.age = .milliseconds(1500)
        #expect(self.lines([report()], filter: filter).contains("belfry_tombstone_filter_age_seconds 1.5"))
    }

    @Test("Connections, GOAWAYs and times have their series, which the shards add up")
    func ways() {
        var connections = ConnectionReport(environment: "sandbox")
        connections.count(.open)
        connections.goAways = ["Shutdown": 2]
        var shard = report()
        shard.connections = [connections]
        shard.times.noteHandOver(3, age: .milliseconds(3), over: .http2, .live)
        shard.redisRoundTrips = .roundTrip
        shard.redisRoundTrips?.observe(.milliseconds(1))
        shard.partitions[0].waitingRecords = 4
        shard.topics[0].cursorPublishedAt = 1_700_000_000_500
        var later = shard
        later.topics[0].cursorPublishedAt = 1_800_000_000_000
        let lines = lines([later, shard])
        let way = "lane=\"normal\",transport=\"http2\",class=\"live\""
        let topic = "app=\"com.example.news\",environment=\"sandbox\""
        for line in [
            "belfry_gateway_connections{environment=\"sandbox\",state=\"open\"} 2",
            "belfry_gateway_connections{environment=\"sandbox\",state=\"waiting\"} 0",
            "belfry_goaways_total{environment=\"sandbox\",reason=\"Shutdown\"} 4",
            "belfry_publish_to_gateway_seconds_bucket{\(way),le=\"0.002\"} 0",
            "belfry_publish_to_gateway_seconds_bucket{\(way),le=\"0.004\"} 6",
            "belfry_publish_to_gateway_seconds_count{\(way)} 6",
            "belfry_publish_to_gateway_seconds_sum{\(way)} 0.018",
            "belfry_gateway_to_settled_seconds_count{\(way)} 0",
            "belfry_redis_round_trip_seconds_count 2",
            "belfry_waiting_records{lane=\"normal\",partition=\"3\"} 8",
            "belfry_topic_cursor_timestamp_seconds{\(topic)} 1700000000.5",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(!lines.contains { $0.hasPrefix("belfry_kafka_acknowledgement_seconds_") }, "not measured")
    }

    @Test("A label value cannot break out of its quotes, nor help text out of its line")
    func escaping() {
        var family = MetricFamily("x", .gauge, "a\nb\\")
        family.add(1.25, [.init("l", "q\"\\\n")])
        #expect(MetricsText.render([family]) == "# HELP x a\\nb\\\\\n# TYPE x gauge\nx{l=\"q\\\"\\\\\\n\"} 1.25\n")
    }

    @Test("Promtool has nothing to say about a worker's metrics, nor about those of one that has just started")
    func promtool() throws {
        for reports in [[], [report()], [report(), report(status: 10)]] {
            #expect(try Promtool.complaints(about: text(WorkerReport(shards: reports))) == "")
        }
    }

    @Test("A worker is ready when every shard has its partitions and its token state")
    func readiness() {
        #expect(WorkerRole.readiness([report(), report()]).isReady)
        #expect(WorkerRole.readiness([]).obstacles == ["the worker is starting or stopping"])
        var waiting = report()
        waiting.hasJoined = false
        var away = report()
        away.isTokenStateReady = false
        var without = report()
        without.isTokenStateReady = nil
        var leaving = report()
        leaving.isDraining = true
        #expect(
            WorkerRole.readiness([waiting, away, without, leaving]).obstacles
                == ["shard 0 waits for its partitions", "shard 1 waits for Redis", "shard 3 drains"]
        )
        let dependencies = WorkerRole.obstacles([waiting, away, without, leaving]).map(\.dependency)
        #expect(dependencies == [.kafka, .redis, .process])
    }
}
