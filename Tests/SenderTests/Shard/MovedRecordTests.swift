import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas
import PushTopics
import RequestLanes
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Records that a worker has moved from the urgent lane into the normal one.
@Suite("Moved records")
struct MovedRecordTests {
    private typealias Bench = ShardBench

    private static let header = "belfry-moved-from"
    private static let place = "push.requests.urgent/2@4711"
    private static let warning = "moved from the lane urgent: over the quota (push.requests.urgent/2@4711)"

    private let eventLoop = EmbeddedEventLoop()
    private let redis: SimulatedRedis

    init() { redis = SimulatedRedis(on: eventLoop) }

    /// A shard with Redis, which remembers requests for an hour.
    private func bench(in lane: RequestLane = .normal, remembers: Bool = true) -> Bench {
        let bench = Bench(on: eventLoop, in: lane, redis: redis) {
            $0.worker.dedupeWindow = remembers ? .seconds(3600) : .zero
        }
        bench.assign(0)
        return bench
    }

    /// Brings a request that names these places as those from which it was moved; nil: it was not moved.
    private static func bring(_ request: PushSendRequest, from places: String?..., to bench: Bench) throws {
        for place in places {
            bench.headers = place.map { [(name: header, value: Array($0.utf8))] } ?? []
            try bench.bring([(Bench.news, request)])
            bench.wait(milliseconds: 2000)
        }
    }

    /// A request to one token, without an id.
    private static func request(_ change: (inout PushSendRequest) -> Void = { _ in }) -> PushSendRequest {
        PushSendRequest.with {
            $0.packedTokens = Data(repeating: 1, count: 32)
            change(&$0)
        }
    }

    private static func counting() -> PushSendRequest {
        request {
            $0.notification.alert.body = "Hello"
            $0.notification.badge.add = 1
        }
    }

    private static func kinds(_ bench: Bench) throws -> [PushOutcomeKind] { try bench.outcomes().map(\.kind) }

    // MARK: Outcomes

    @Test("The outcome names the record's own place, and tells the former one in its warning and in a header")
    func outcome() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(Self.request(), from: Self.place, to: bench)
        let outcome = try #require(try bench.outcomes().first)
        #expect(outcome.kind == .presumed && outcome.warning == Self.warning)
        #expect(outcome.sourceTopic == "push.requests" && outcome.sourceOffset == 0)
        let record = try #require(bench.producer.records(of: "push.outcomes").first)
        #expect(record.header(Self.header) == Self.place)

        let message = KafkaRecord(
            topic: "push.outcomes",
            partition: 0,
            offset: 0,
            key: nil,
            value: nil,
            headers: record.headers.map { (name: $0.0, value: $0.1) }
        )
        let batch = KafkaBatch([message])
        let (own, others) = withExtendedLifetime(batch) {
            (outcome.atOrigin(batch[0], TopicNames()), outcome.atOrigin(batch[0], TopicNames(prefix: "other.")))
        }
        #expect(own.sourceTopic == "push.requests.urgent" && own.sourcePartition == 2 && own.sourceOffset == 4711)
        #expect(others == outcome)
    }

    @Test("The warning stands behind others, and in that of a summary")
    func warnings() throws {
        let bench = Bench { $0.apps[Bench.news, default: .init()].sensitiveData = .warn }
        defer { bench.shard.leave() }
        bench.assign(0)
        let request = Self.request {
            $0.payload = Data(#"{"aps":{"alert":"4111 1111 1111 1111"}}"#.utf8)
            $0.report = .summary
        }
        try Self.bring(request, from: Self.place, to: bench)
        let outcome = try #require(try bench.outcomes().first)
        #expect(outcome.kind == .summary)
        #expect(outcome.warning == "'payload.aps.alert' has a payment card number at byte 0; \(Self.warning)")
    }

    @Test("A dead letter of a moved record names the record's own place, and its outcome the former one")
    func deadLetter() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(Self.request { $0.payload = Data("?".utf8) }, from: Self.place, to: bench)
        let letter = try #require(bench.producer.records(of: "push.dead-letters").first)
        #expect(letter.header("source-topic") == "push.requests" && letter.header("source-offset") == "0")
        #expect(try bench.outcomes().first?.warning == Self.warning)
    }

    @Test(
        "A header that names no record of the urgent lane is none",
        arguments: [
            "", "push.requests.urgent", "push.requests.urgent/2", "push.requests.urgent/2@", "push.requests/2@4711",
            "push.requests.bulk/2@4711", "x.push.requests.urgent/2@4711", "push.requests.urgent:2@4711",
            "push.requests.urgent/-2@4711", "push.requests.urgent/2@-1", "push.requests.urgent/02@4711",
            "push.requests.urgent/+2@4711", "push.requests.urgent/2@4711 ", "push.requests.urgent/2@@4711",
            "push.requests.urgent/2@4711@1", "push.requests.urgent/2@9223372036854775808",
            "push.requests.urgent/2147483648@1",
        ]
    )
    func malformed(header: String) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try Self.bring(Self.request(), from: header, to: bench)
        let outcome = try #require(try bench.outcomes().first)
        #expect(outcome.kind == .presumed && outcome.warning.isEmpty)
        #expect(bench.producer.records(of: "push.outcomes").first?.headers.isEmpty == true)
    }

    @Test("The header means nothing in other lanes", arguments: [RequestLane.urgent, .bulk])
    func otherLanes(lane: RequestLane) throws {
        let bench = bench(in: lane)
        defer { bench.shard.leave() }
        try Self.bring(Self.request(), from: Self.place, Self.place, to: bench)
        #expect(try bench.outcomes().map(\.warning) == ["", ""])
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1], "they are two requests")
    }

    // MARK: Twice

    @Test("A record without an id that was moved twice is sent once while requests are remembered; two records are not")
    func movedTwice() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        try Self.bring(Self.request(), from: Self.place, Self.place, to: bench)
        #expect(try Self.kinds(bench) == [.presumed, .duplicate])
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
        try Self.bring(Self.request(), from: "push.requests.urgent/2@4712", nil, nil, to: bench)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1, 1, 1])
    }

    @Test("One with an id is known by that, wherever it was published")
    func withID() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        let request = Self.request { $0.requestID = "a" }
        try Self.bring(request, from: nil, Self.place, "push.requests.urgent/2@4712", to: bench)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }

    @Test("Entries of one token with different values are several notifications in a moved record, too")
    func twins() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        let request = Self.request { request in
            request.packedTokens = Data()
            request.notification.alert.locKey = "k"
            request.tokens = ["a", "b"].map { text in
                .with {
                    $0.raw = Data(repeating: 1, count: 32)
                    $0.locArgs = [text]
                }
            }
        }
        try Self.bring(request, from: Self.place, to: bench)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1])
        #expect(try Self.kinds(bench) == [.presumed, .presumed])
    }

    // MARK: Badges

    @Test("What was moved twice counts once for the token's number", arguments: [false, true])
    func badges(remembers: Bool) throws {
        let bench = bench(remembers: remembers)
        defer { bench.shard.leave() }
        try Self.bring(Self.counting(), from: Self.place, Self.place, to: bench)
        #expect(redis.badge == 1)
        try Self.bring(Self.counting(), from: "push.requests.urgent/2@4712", nil, to: bench)
        #expect(redis.badge == 3)
    }

    @Test("A record that was sent as urgent and moved, too, counts once", arguments: [false, true])
    func badgeOfOriginal(remembers: Bool) throws {
        let urgent = bench(in: .urgent, remembers: remembers)
        defer { urgent.shard.leave() }
        try Self.bring(Self.counting(), from: nil, to: urgent)
        #expect(redis.badge == 1)
        let normal = bench(remembers: remembers)
        defer { normal.shard.leave() }
        try Self.bring(Self.counting(), from: "push.requests.urgent/0@0", to: normal)
        #expect(redis.badge == 1)
        try Self.bring(Self.counting(), from: "push.requests.urgent/0@1", to: normal)
        #expect(redis.badge == 2)
    }

    @Test("A moved record that is discarded takes back what it counted under its former place")
    func discarded() throws {
        let bench = bench(remembers: false)
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.gateway.timeout = .seconds(1)
        bench.publishedAt = 1
        try Self.bring(Self.counting(), from: Self.place, to: bench)
        #expect(redis.badge == 1)
        bench.pull(.discard(AppControl.Discard(publishedBefore: 2, ends: [0: 1])))
        bench.gateway.silent = []
        bench.wait(milliseconds: 5000)
        #expect(try Self.kinds(bench) == [.aborted] && redis.badge == 0)
    }
}
