import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import RequestLanes
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Shards of the urgent lane with apps that have a quota.
@Suite("Urgent quotas in a shard")
struct UrgentQuotaShardTests {
    private typealias Bench = ShardBench

    private static let header = "belfry-moved-from"
    private static let refused = "record over a quota cannot be moved; it is sent as urgent"
    private static let tooLarge = KafkaError.ofProducer("MSG_SIZE_TOO_LARGE", 10)
    private static let notAuthorized = KafkaError.ofProducer("TOPIC_AUTHORIZATION_FAILED", 29)
    private static let unknownTopic = KafkaError.ofProducer("UNKNOWN_TOPIC_OR_PART", 3)

    /// The places from which records were moved, in order.
    private static func moved(_ bench: Bench) -> [String?] {
        bench.producer.records(of: "push.requests").map { $0.header(header) }
    }

    private static func accepted(_ bench: Bench) -> [UInt8] { bench.gateway.accepted(of: Bench.news) }

    private static func counted(_ bench: Bench) -> Int? {
        bench.shard.report().topics.first { $0.bundleID == Bench.news }?.counters.moved
    }

    // MARK: Moving

    @Test("A record that does not fit into the quota is moved whole, the others stay, and no other app is touched")
    func moves() throws {
        let bench = Bench.urgent(quota: 3)
        defer { bench.shard.leave() }
        bench.headers = [
            ("traceparent", Array("00-1-2-01".utf8)), ("other", Array("x".utf8)),
            ("content-type", Array("application/x-protobuf".utf8)),
        ]
        try bench.bring((Bench.news, [1, 2]), (Bench.news, [3, 4]), (Bench.news, [5]), (Bench.sport, [6, 7, 8, 9]))
        bench.wait(milliseconds: 2000)
        #expect(Self.accepted(bench) == [1, 2, 5] && bench.gateway.accepted(of: Bench.sport) == [6, 7, 8, 9])
        #expect(Self.moved(bench) == ["push.requests.urgent/0@1"])
        let copy = try #require(bench.producer.records(of: "push.requests").first)
        let original = bench.reader.records[1]
        #expect(copy.key == original.key && copy.content == original.value)
        #expect(copy.header("traceparent") == "00-1-2-01" && copy.header("content-type") == "application/x-protobuf")
        #expect(copy.headers.count == 3, "what workers do not read stays behind")
        #expect(try Set(bench.offsets(.presumed)) == [0, 2, 3])
        #expect(bench.committed()?.offset == 4)
        #expect(try bench.laggards().isEmpty)
        #expect(Self.counted(bench) == 2)
    }

    @Test("The quota of a minute comes back within a minute")
    func comesBack() throws {
        let bench = Bench.urgent(quota: 2)
        defer { bench.shard.leave() }
        try bench.bring((Bench.news, [1, 2]), (Bench.news, [3]))
        bench.wait(milliseconds: 31_000)
        try bench.bring((Bench.news, [4]), (Bench.news, [5]))
        bench.wait(milliseconds: 2000)
        #expect(Self.accepted(bench) == [1, 2, 4])
        #expect(Self.moved(bench) == ["push.requests.urgent/0@1", "push.requests.urgent/0@3"])
    }

    @Test("Of a quota of 0 nothing stays; other lanes have no quotas", arguments: RequestLane.allCases)
    func lanes(lane: RequestLane) throws {
        let bench = Bench(in: lane) { $0.apps[Bench.news, default: .init()].urgentQuota = 0 }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 2000)
        let copies = bench.producer.records(of: "push.requests").count
        #expect(copies == (lane == .urgent ? 1 : 0) && Self.accepted(bench) == (lane == .urgent ? [] : [1]))
        #expect(bench.committed()?.offset == 1)
    }

    @Test("A quota that is set, changed or taken away counts for the next record")
    func changes() throws {
        let bench = Bench(in: .urgent)
        defer { bench.shard.leave() }
        bench.assign(0)
        func use(_ quota: Int?) {
            var configuration = bench.shard.settings.configuration
            configuration.apps[Bench.news, default: .init()].urgentQuota = quota
            bench.shard.use(bench.shard.settings.changed(to: configuration))
            bench.wait(milliseconds: 100)
        }
        var token: UInt8 = 0
        for quota in [nil, 1, 2, nil] as [Int?] {
            use(quota)
            token += 2
            try bench.bring((Bench.news, [token - 1]), (Bench.news, [token]))
            bench.wait(milliseconds: 1000)
        }
        #expect(Self.accepted(bench) == [1, 2, 3, 5, 7, 8])
        #expect(Self.moved(bench).count == 2)
    }

    @Test("A shard that has half of an app's keys has half of its quota")
    func share() throws {
        let source = KeyPlacement.Source(partitionCount: 2) { $0(2) }
        let bench = Bench(in: .urgent, placement: source) {
            $0.apps[Bench.news, default: .init()].spread = 64
            $0.apps[Bench.news]?.urgentQuota = 1000
        }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        let account = try #require(bench.shard.stages.group.directory.accounts.first)
        let keys = (0..<64).count { KafkaPartitioner.murmur2Partition(key: "\(Bench.news)#\($0)", count: 2) == 0 }
        #expect(account.quota?.perMinute == 1000 * Double(keys) / 64)
    }

    @Test("A record stays if it fits into the shard's share, and not if only into the quota")
    func largerThanShare() throws {
        let source = KeyPlacement.Source(partitionCount: 2) { $0(2) }
        let bench = Bench(in: .urgent, placement: source) {
            $0.apps[Bench.news, default: .init()].spread = 64
            $0.apps[Bench.news]?.urgentQuota = 100
        }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...90)), (Bench.news, Array(101...110)))
        bench.wait(milliseconds: 1000)
        #expect(Self.moved(bench) == ["push.requests.urgent/0@0"])
    }

    @Test("The partitions of an app's keys stay known when partitions come")
    func knownKeys() throws {
        let source = KeyPlacement.Source(partitionCount: 2) { $0(2) }
        let bench = Bench(in: .urgent, placement: source) { $0.apps[Bench.news, default: .init()].urgentQuota = 10 }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 100)
        #expect(bench.shard.stages.levers.shares.count == 1)
        bench.assign(1)
        #expect(bench.shard.stages.levers.shares.count == 1)
    }

    @Test("A partition that has just come brings its part of the quota")
    func partitionComes() throws {
        let source = KeyPlacement.Source(partitionCount: 2) { $0(2) }
        let bench = Bench(in: .urgent, placement: source) { $0.apps[Bench.news, default: .init()].urgentQuota = 10 }
        defer { bench.shard.leave() }
        let home = KafkaPartitioner.murmur2Partition(key: Bench.news, count: 2)
        // Records in the wrong partition have half of the quota.
        bench.assign(1 - home)
        try bench.bring((Bench.news, [1]), to: 1 - home)
        bench.wait(milliseconds: 100)
        bench.assign(home)
        try bench.bring((Bench.news, [2, 3, 4, 5, 6, 7, 8, 9]), to: home)
        bench.wait(milliseconds: 2000)
        #expect(Self.moved(bench).isEmpty && Self.accepted(bench).count == 9)
    }

    @Test("A summary is left to the lane in which the tokens end")
    func summary() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        try bench.bring([
            (
                Bench.news,
                .with {
                    $0.report = .summary
                    $0.packedTokens = Data([1, 2].flatMap { [UInt8](repeating: $0, count: 32) })
                }
            )
        ])
        bench.wait(milliseconds: 2000)
        #expect(Self.moved(bench).count == 1 && bench.producer.records(of: "push.outcomes").isEmpty)
        #expect(bench.committed()?.offset == 1)
        #expect(try bench.laggards().isEmpty)
    }

    @Test("What an operator has discarded ends as aborted where it is")
    func discarded() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        bench.publishedAt = 1
        bench.pull(.discard(AppControl.Discard(publishedBefore: 2, ends: [0: 1])), in: .urgent)
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(try bench.offsets(.aborted) == [0])
        #expect(Self.moved(bench) == ["push.requests.urgent/0@1"])
    }

    // MARK: Acknowledgements

    @Test("A record is done when the other lane has it; until then it is read and moved again")
    func acknowledged() throws {
        let bench = Bench.urgent(quota: 1)
        defer { bench.shard.leave() }
        bench.producer.refused = ["push.requests"]
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 1])
        #expect(Self.accepted(bench) == [1] && Self.counted(bench) == 0)
        #expect(bench.shard.stages.outcomes.unacknowledged == 1)
        // The partition goes to another owner.
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.producer.refused = []
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 2000)
        #expect(Self.moved(bench) == ["push.requests.urgent/0@1", "push.requests.urgent/0@1"])
        #expect(Self.accepted(bench) == [1] && Self.counted(bench) == 1)
        #expect(try bench.laggards().isEmpty)
        #expect(bench.committed()?.offset == 2)
    }

    @Test("A broker that is away does not let the record be sent: it is moved when the broker is back")
    func away() throws {
        let bench = Bench.urgent(quota: 0)
        defer { bench.shard.leave() }
        let timedOut = KafkaError.timedOut
        bench.producer.objection = { $0.topic == "push.requests" ? timedOut : nil }
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 10_000)
        #expect(Self.accepted(bench).isEmpty && bench.shard.stages.outcomes.unacknowledged == 1)
        bench.producer.objection = { _ in nil }
        bench.wait(milliseconds: 31_000)
        #expect(Self.moved(bench).count == 1 && Self.accepted(bench).isEmpty)
        #expect(bench.committed()?.offset == 1)
    }

    @Test("A record that is refused for good is sent as urgent, and the log says why", arguments: [false, true])
    func unfit(isReported: Bool) throws {
        let bench = Bench.urgent(quota: 1)
        defer { bench.shard.leave() }
        let request = PushSendRequest.with {
            $0.requestID = "r"
            $0.report = .all
            $0.notification.alert.body = "Hello"
            $0.notification.badge.add = 1
            $0.packedTokens = Data(repeating: 2, count: 32)
        }
        if isReported {
            bench.producer.refused = ["push.requests"]
        } else {
            bench.producer.objection = { $0.topic == "push.requests" ? Self.tooLarge : nil }
        }
        try bench.bring((Bench.news, [1]))
        try bench.bring([(Bench.news, request)])
        try bench.bring((Bench.sport, [3]))
        bench.wait(milliseconds: 1000)
        if isReported {
            let copy = try #require(bench.producer.records(of: "push.requests").first)
            bench.shard.delivered(copy.number, error: Self.tooLarge)
        }
        bench.wait(milliseconds: 2000)
        #expect(Self.accepted(bench) == [1, 2] && bench.gateway.accepted(of: Bench.sport) == [3])
        #expect(try Set(bench.offsets(.presumed)) == [0, 1, 2])
        #expect(bench.lines.levels(of: Self.refused) == [.warning])
        let line = try #require(bench.lines.metadata(of: Self.refused).first)
        #expect(line["app"] == Bench.news && line["offset"] == "1")
        #expect(line["error"]?.contains("MSG_SIZE_TOO_LARGE") == true)
        #expect(bench.committed()?.offset == 3 && Self.counted(bench) == 0)
        let counters = bench.shard.stages.counters
        #expect(counters.records == 3 && counters.notifications == 3, "each is counted once")
    }

    @Test("While the other Kafka topic is refused, nothing is lost or late, and it is tried once in a while")
    func barred() throws {
        for error in [Self.notAuthorized, Self.unknownTopic] {
            let bench = Bench.urgent(quota: 0)
            defer { bench.shard.leave() }
            var tries = 0
            bench.producer.objection = { record in
                guard record.topic == "push.requests" else { return nil }
                tries += 1
                return error
            }
            for token in 1...20 as ClosedRange<UInt8> {
                try bench.bring((Bench.news, [token]))
                bench.wait(milliseconds: 1000)
            }
            #expect(Self.accepted(bench) == Array(1...20) && tries == 1)
            #expect(bench.lines.levels(of: Self.refused) == [.warning])
            bench.producer.objection = { _ in nil }
            bench.wait(milliseconds: 30_000)
            try bench.bring((Bench.news, [21]))
            bench.wait(milliseconds: 2000)
            #expect(Self.moved(bench) == ["push.requests.urgent/0@20"] && bench.committed()?.offset == 21)
        }
    }

    // MARK: Records that are read again

    @Test("A record of which a part is done stays: moved, all of it would be sent again")
    func begun() throws {
        let bench = Bench.urgent(quota: 2)
        defer { bench.shard.leave() }
        bench.gateway.unreachable = [Bench.news]
        try bench.bring([
            (
                Bench.news,
                .with {
                    $0.tokens = [
                        .with { $0.raw = Data(repeating: 1, count: 5) },
                        .with { $0.raw = Data(repeating: 2, count: 32) },
                    ]
                }
            )
        ])
        bench.wait(milliseconds: 2000)
        #expect(try bench.offsets(.deadLettered) == [0] && Self.accepted(bench).isEmpty)
        // The next owner has used its quota up.
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.gateway.unreachable = []
        bench.assign(0)
        bench.group.batches.append(KafkaBatch(bench.reader.records))
        bench.wait(milliseconds: 30_000)
        #expect(Self.accepted(bench) == [2] && Self.moved(bench).isEmpty)
        #expect(bench.committed()?.offset == 1)
    }

    @Test("A record that is fed again and again while its app does not work counts once")
    func fedAnew() throws {
        let bench = Bench.urgent(quota: 2)
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.news] = { _ in .missingTopic }
        try bench.bring((Bench.news, [1]), (Bench.news, [2]))
        bench.wait(milliseconds: 10_000)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 10_000)
        #expect(Self.accepted(bench) == [1, 2] && Self.moved(bench).isEmpty)
    }
}
