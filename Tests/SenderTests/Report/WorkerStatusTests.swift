import APNsProtocol
import Foundation
import PipelineCore
import PushTopics
import RequestLanes
import Testing

@testable import BelfrySupport
@testable import ProviderCredentials
@testable import Sender

/// The worker's part of `/status`.
@Suite struct WorkerStatusTests {
    private let now = 1_700_000_100.0

    private func shard(partition: Int32, reason: String? = nil) -> ShardReport {
        var counters = WorkerCounters()
        counters.records = 7
        counters.outcomes.count(.confirmed)
        var connections = ConnectionReport(environment: "sandbox")
        connections.count(.open)
        var topic = WorkerAppCounters()
        topic.accepted = 4
        topic.misplaced = 3
        return ShardReport(
            counters: counters,
            partitions: [
                .init(
                    number: partition,
                    lagRecords: 9,
                    uncommitted: 0,
                    behind: 1,
                    unnamed: 0,
                    isStanding: false,
                    waitingRecords: 5
                )
            ],
            topics: [
                .init(
                    bundleID: "com.example.news",
                    environment: "sandbox",
                    inFlight: 1,
                    waiting: 2,
                    openConnections: 1,
                    reason: reason,
                    bytes: 10,
                    lagRecords: 3,
                    cursors: [.init(partition: partition, offset: 70)],
                    cursorPublishedAt: 1_700_000_040_000 + Int64(partition) * 1000,
                    oldestUnconfirmed: .seconds(Int(partition)),
                    counters: topic
                )
            ],
            oldestUnconfirmed: nil,
            oldestPublishedAt: nil,
            unacknowledged: 0,
            coalescing: 0,
            hasJoined: true,
            isTokenStateReady: nil,
            isDraining: false,
            connections: [connections]
        )
    }

    private func status(_ shards: [ShardReport], levers: WorkerReport.Levers? = nil) throws -> RoleStatus {
        let ends: [(String, Int64)] = [("b", 1_700_086_500), ("a", 1_700_000_099)]
        let certificates = ends.map {
            CertificateStore.Certificate(bundleID: $0.0, environment: "sandbox", notAfter: $0.1)
        }
        var report = WorkerReport(shards: shards, certificates: certificates, levers: levers)
        let key = try #require(ProviderKeyID(team: "T", key: "K"))
        report.providerTokens = [.init(key: key, minted: 1, issuedAt: 1_700_000_000)]
        var status = RoleStatus(role: "worker", now: now)
        report.describe(
            .init(perSecond: 2.5, period: .seconds(60)),
            settings: [
                EnvironmentSettings(name: "idle", gateways: [HostPort(host: "a", port: 1)], transport: .http2),
                EnvironmentSettings(name: "sandbox", gateways: [HostPort(host: "b", port: 2)]),
            ],
            names: TopicNames(),
            in: &status
        )
        return status
    }

    @Test("What several shards have of a topic is one topic: sums, all cursors, and the oldest")
    func topics() throws {
        let status = try status([shard(partition: 2), shard(partition: 1, reason: "unreachable")])
        let topic = try #require(status.topics.first)
        #expect(status.topics.count == 1 && status.omittedTopics == 0)
        #expect(topic.topic == "com.example.news" && topic.stoppedBecause == "unreachable")
        #expect(topic.cursors == [.init(partition: 1, offset: 70), .init(partition: 2, offset: 70)])
        #expect(topic.cursorAgeSeconds == 59 && topic.oldestUnconfirmedSeconds == 2)
        #expect(topic.lagRecords == 6 && topic.inFlight == 2 && topic.waiting == 4 && topic.accepted == 8)
    }

    @Test("Partitions of several lanes go by their Kafka topics, and cursors name the lane")
    func lanes() throws {
        var urgent = shard(partition: 2)
        urgent.lane = .urgent
        for index in urgent.partitions.indices { urgent.partitions[index].lane = .urgent }
        urgent.topics[0].cursors = [.init(lane: .urgent, partition: 2, offset: 5)]
        let status = try status([urgent, shard(partition: 2)])
        #expect(status.partitions.map(\.kafkaTopic) == ["push.requests.urgent", "push.requests"])
        let topic = try #require(status.topics.first)
        #expect(topic.cursors == [.init(partition: 2, offset: 70), .init(lane: .urgent, partition: 2, offset: 5)])
        #expect(topic.cursors.map(\.lane) == [nil, "urgent"])
    }

    @Test("Levers are told with the lanes in which they hold, of several paces the highest, of discards the latest")
    func levers() throws {
        func discard(before time: Int64) -> AppControl.Discard { .init(publishedBefore: time, ends: [:]) }
        let levers = [
            RequestLane.urgent: AppControl(notificationsPerSecond: 3, discard: discard(before: 2000)),
            .normal: AppControl(isPaused: true, discard: discard(before: 1000)),
            .bulk: AppControl(isPaused: true, notificationsPerSecond: 7),
        ]
        var (bulk, normal) = (shard(partition: 1), shard(partition: 1))
        bulk.lane = .bulk
        bulk.topics[0].lane = .bulk
        bulk.topics[0].levers = levers
        // It has heard of the first one only.
        normal.topics[0].levers[.normal] = levers[.normal]
        for shards in [[bulk, normal], [normal, bulk]] {
            let topic = try #require(try status(shards).topics.first)
            #expect(topic.isPaused && topic.pausedLanes == ["normal", "bulk"])
            #expect(topic.pace == 7 && topic.pacedLanes == ["urgent", "bulk"])
            #expect(topic.discardsBefore?.unixSeconds == 2 && topic.discardingLanes == ["urgent", "normal"])
        }
    }

    @Test("Without a lever nothing is told of any, nor of lanes")
    func noLevers() throws {
        let topic = try #require(try status([shard(partition: 1)]).topics.first)
        #expect(!topic.isPaused && topic.pace == nil && topic.discardsBefore == nil)
        #expect(topic.pausedLanes == nil && topic.pacedLanes == nil && topic.discardingLanes == nil)
    }

    @Test("Partitions, gateways, certificates, keys, totals and the hint for scaling are told")
    func parts() throws {
        let status = try status([shard(partition: 2), shard(partition: 1)])
        #expect(status.partitions.map(\.number) == [1, 2] && status.partitions[0].kafkaTopic == "push.requests")
        #expect(status.gateways.map(\.environment) == ["idle", "sandbox"])
        #expect(status.gateways[0].connections["open"] == 0 && status.gateways[1].connections["open"] == 2)
        #expect(status.gateways[0].transport == "http2" && status.gateways[1].addresses == ["b:2"])
        #expect(status.certificates.map(\.topic) == ["a", "b"] && status.certificates.map(\.daysLeft) == [-1, 1])
        #expect(status.keys == [.init(team: "T", key: "K", tokenAgeSeconds: 100)])
        #expect(status.totals["misplacedRecords"] == 6)
        #expect(status.totals["records"] == 14 && status.outcomes["confirmed"] == 2 && status.outcomes["unknown"] == 0)
        let scaling = try #require(status.scaling)
        #expect(scaling.waitingRecords == 10 && scaling.recordsPerSecond == 2.5 && scaling.ratePeriodSeconds == 60)
        #expect(scaling.partitions == 2)
    }

    @Test("The age of what is known of levers is told from the first reading of push.controls on")
    func controlsAge() throws {
        let shards = [shard(partition: 1)]
        #expect(try status(shards).controlsAgeSeconds == nil)
        #expect(try status(shards, levers: .init(age: nil, counts: [:])).controlsAgeSeconds == nil)
        let read = WorkerReport.Levers(age: .milliseconds(1500), counts: [:])
        #expect(try status(shards, levers: read).controlsAgeSeconds == 1.5)
    }

    @Test("Times of delivery are those of all shards, of the ways that had notifications")
    func delivery() throws {
        var (first, second) = (shard(partition: 1), shard(partition: 2))
        first.times.noteHandOver(3, age: .milliseconds(1), over: .http2, .live)
        second.times.noteHandOver(2, age: .milliseconds(3), over: .http2, .live)
        second.times.noteSettled(4, after: .seconds(5000), over: .binary, .lagging)
        let delivery = try status([first, second]).delivery
        #expect(delivery.map(\.transport) == ["binary", "http2"])
        #expect(delivery.map(\.topicClass) == ["lagging", "live"])
        #expect(delivery[1].boundsSeconds.prefix(3) == [0.001, 0.002, 0.004])
        #expect(delivery[1].handedOver.prefix(4) == [3, 0, 2, 0] && delivery[1].settled.allSatisfy { $0 == 0 })
        #expect(delivery[0].settled.last == 4 && delivery[0].settled.count == delivery[0].boundsSeconds.count + 1)
        #expect(try status([shard(partition: 1)]).delivery == [])
    }

    @Test("A status survives its way through JSON")
    func json() throws {
        let status = try status([shard(partition: 1, reason: "unreachable")])
        let text = try JSONEncoder().encode(status)
        #expect(try JSONDecoder().decode(RoleStatus.self, from: text) == status)
        let words = String(decoding: text, as: UTF8.self)
        #expect(words.contains(#""now":"2023-11-14T22:15:00.000Z""#) && words.contains(#""notAfter":"2023-11-15T"#))
    }

    @Test("Of many topics those that need a look are told, and how many others there are")
    func omitted() throws {
        var shard = shard(partition: 1)
        let topic = shard.topics[0]
        shard.topics = (0..<250).map { number in
            var copy = topic
            copy.bundleID = "com.example.app\(number)"
            copy.reason = number == 249 ? "unreachable" : nil
            return copy
        }
        let status = try status([shard])
        #expect(status.topics.count == 200 && status.omittedTopics == 50)
        #expect(status.topics[0].topic == "com.example.app249")
    }
}
