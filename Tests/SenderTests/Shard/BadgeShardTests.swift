import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas
import RedisClient
import Testing
import TokenState

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// A shard with notifications that change the numbers of their tokens.
@Suite("Badges")
struct BadgeShardTests {
    private static let news = ShardBench.news

    /// A request to tokens of 32 times the same byte.
    private static func request(
        _ tokens: [UInt8],
        add: Int32 = 1,
        key: String = "",
        id: String = "",
        _ change: (inout PushSendRequest) -> Void = { _ in }
    ) -> (bundleID: String, request: PushSendRequest) {
        var request = PushSendRequest()
        request.notification.alert.body = "Hello"
        request.notification.badge.add = add
        request.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
        request.coalescingKey = key
        request.requestID = id
        change(&request)
        return (news, request)
    }

    private struct Bench {
        let bench: ShardBench
        let redis: SimulatedRedis

        init(_ change: (inout BelfryConfiguration) -> Void = { _ in }) {
            let eventLoop = EmbeddedEventLoop()
            redis = SimulatedRedis(on: eventLoop)
            bench = ShardBench(on: eventLoop, redis: redis, change)
            bench.group.cachedEnd = 0
            bench.assign(0)
        }

        func bring(_ requests: (bundleID: String, request: PushSendRequest)...) throws {
            try bench.bring(requests)
            bench.wait(milliseconds: 2000)
        }

        /// Numbers in the payloads that the gateway has accepted, in order; nil: it had none.
        var numbers: [Int?] {
            bench.gateway.payloads.map { payload in
                let aps = (try? JSONSerialization.jsonObject(with: Data(payload))) as? [String: [String: Any]]
                return aps?["aps"]?["badge"] as? Int
            }
        }

        func kinds() throws -> [PushOutcomeKind] { try bench.outcomes().map(\.kind) }
    }

    @Test("The number comes with the look-up, and the notification carries it")
    func numbers() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        try badges.bring(
            Self.request([1]),
            Self.request([1, 2]),
            Self.request([1], add: 0),
            Self.request([1], add: -9)
        )
        #expect(badges.numbers.compactMap(\.self).sorted() == [0, 1, 1, 2, 2])
        #expect(badges.numbers.first == 1 && badges.numbers.last == 0, "in order")
    }

    @Test("A badge that is set is kept, be it the notification's or the token's own, and may be added to")
    func kept() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        try badges.bring(
            Self.request([1]) { $0.notification.badge.set = 7 },
            Self.request([1]),
            Self.request([]) { request in
                request.notification.clearBadge()
                request.tokens = [
                    .with {
                        $0.raw = Data(repeating: 1, count: 32)
                        $0.badge = 20
                    }
                ]
            },
            Self.request([1]),
            Self.request([1]) { $0.notification.badge.clear = true },
            Self.request([1])
        )
        #expect(badges.numbers == [7, 8, 20, 21, 0, 1])
    }

    @Test("The badge of an expired notification is taken back before its outcome; so is that of a refused one")
    func takenBack() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        badges.bench.setClock(unixSeconds: 1000)
        try badges.bring(Self.request([1]))
        badges.bench.gateway.answers = [Self.news: { $0 == 1 ? .invalidToken : nil }]
        try badges.bring(Self.request([1]), Self.request([2]))
        #expect(try badges.kinds().filter { $0 == .rejected }.count == 1)
        #expect(badges.redis.badge == 1)
        try badges.bring(Self.request([1]) { $0.expiration = 10 })
        #expect(try badges.kinds().last == .expired && badges.redis.badge == 1)
    }

    @Test("A record that has expired when it is read again takes back what its first reading counted")
    func expiredAgain() throws {
        for id in ["", "a"] {
            let badges = Bench { $0.worker.dedupeWindow = .seconds(3600) }
            defer { badges.bench.shard.leave() }
            badges.bench.setClock(unixSeconds: 1000)
            badges.bench.gateway.unreachable = [Self.news]
            try badges.bring(Self.request([1], id: id) { $0.expiration = 1010 })
            #expect(badges.redis.badge == 1)
            badges.bench.shard.revoke([badges.bench.place(0)], lost: true)
            badges.bench.setClock(unixSeconds: 1020)
            badges.bench.assign(0)
            badges.bench.group.batches.append(KafkaBatch(badges.bench.reader.records))
            badges.bench.wait(milliseconds: 2000)
            #expect(try badges.kinds() == [.expired] && badges.redis.badge == 0)
        }
    }

    @Test("A taking back that Redis does not take is made again, and the outcome waits for it")
    func takenBackAgain() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        badges.bench.setClock(unixSeconds: 1000)
        badges.redis.refusals[.calls(BadgeScript.takeBack)] = [.maybeExecuted(reason: "the connection was lost")]
        try badges.bench.bring([Self.request([1]) { $0.expiration = 10 }])
        badges.bench.wait(milliseconds: 500)
        #expect(try badges.kinds().isEmpty && badges.bench.committed()?.offset ?? 0 == 0)
        badges.bench.wait(milliseconds: 2000)
        #expect(try badges.kinds() == [.expired] && badges.bench.committed()?.offset == 1)
    }

    @Test("The badge of a notification that is discarded before it is sent is taken back", arguments: ["", "id"])
    func discarded(id: String) throws {
        let badges = Bench { $0.worker.dedupeWindow = .seconds(3600) }
        defer { badges.bench.shard.leave() }
        badges.bench.gateway.silent = [Self.news]
        badges.bench.gateway.timeout = .seconds(1)
        badges.bench.publishedAt = 1
        try badges.bring(Self.request([1], id: id), Self.request([1]))
        #expect(badges.redis.badge == 2 && badges.numbers.isEmpty)
        badges.bench.pull(.discard(AppControl.Discard(publishedBefore: 2, ends: [0: 1])))
        badges.bench.gateway.silent = []
        badges.bench.wait(milliseconds: 5000)
        #expect(try badges.kinds().contains(.aborted) && badges.redis.badge == 1)
        #expect(badges.numbers == [1], "the other one was looked up again, behind it")
    }

    @Test("A repetition that is discarded takes nothing back from the request that arrived, and is a duplicate")
    func discardedRepetition() throws {
        let badges = Bench { $0.worker.dedupeWindow = .seconds(3600) }
        defer { badges.bench.shard.leave() }
        badges.bench.publishedAt = 1
        try badges.bring(Self.request([1], id: "a"))
        badges.bench.pull(.pause)
        try badges.bring(Self.request([1], id: "a"), Self.request([1], id: "b"))
        badges.bench.pull(.pause, .discard(AppControl.Discard(publishedBefore: 2, ends: [0: 3])))
        badges.bench.wait(milliseconds: 5000)
        let kinds = try badges.kinds()
        #expect(kinds.count == 3 && kinds.contains(.duplicate) && kinds.contains(.aborted))
        #expect(badges.redis.badge == 1 && badges.numbers == [1])
    }

    @Test("A number that Redis does not change for good is left out, and the notification is sent")
    func refused() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        let error = RedisError.server(prefix: "BELFRY", message: "a badge of another form is not known here")
        badges.redis.refusals[.calls(BadgeScript.change)] = [error]
        try badges.bring(Self.request([1]))
        #expect(badges.numbers == [nil])
        try badges.bring(Self.request([1]))
        #expect(badges.numbers == [nil, 1])
    }

    @Test("A change that is asked for again counts once")
    func again() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        badges.redis.refusals[.calls(BadgeScript.change)] = [.maybeExecuted(reason: "the connection was lost")]
        try badges.bring(Self.request([1]))
        badges.bench.wait(milliseconds: 2000)
        #expect(badges.numbers == [1])
    }

    @Test("A record that is read again counts once; a request that comes again has the first one's mark")
    func repetition() throws {
        let badges = Bench { $0.worker.dedupeWindow = .seconds(3600) }
        defer { badges.bench.shard.leave() }
        try badges.bring(Self.request([1], id: "a"), Self.request([1], id: "a"), Self.request([1], id: "b"))
        #expect(try badges.kinds().filter { $0 == .duplicate }.count == 1)
        #expect(badges.numbers == [1, 2] && badges.redis.badge == 2)
    }

    @Test("A notification superseded while it waits is not counted; the newest is, when it is sent")
    func superseded() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        badges.bench.group.cachedEnd = 5
        try badges.bring(
            Self.request([1], key: "score"),
            Self.request([1], key: "score"),
            Self.request([1]),
            Self.request([1], key: "score"),
            Self.request([2])
        )
        #expect(try badges.kinds().filter { $0 == .superseded }.count == 2)
        #expect(badges.redis.badge == 2, "one without a key, and the newest with one")
        #expect(badges.numbers == [1, 1, 2])
    }

    @Test("A request without a number stays behind an older one of its token that waits for one")
    func orderOfDue() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        badges.redis.refusals[.calls(BadgeScript.change)] = [.maybeExecuted(reason: "the connection was lost")]
        try badges.bench.bring([Self.request([1], key: "score")])
        badges.bench.wait(milliseconds: 100)
        try badges.bench.bring([Self.request([1], key: "score") { $0.notification.clearBadge() }])
        badges.bench.wait(milliseconds: 300)
        #expect(badges.numbers.isEmpty)
        badges.bench.wait(milliseconds: 3000)
        #expect(badges.numbers == [1, nil])
    }

    @Test("While sending goes on without Redis there is no number; nothing waits for it")
    func withoutRedis() throws {
        let badges = Bench { $0.redis.whenAway = .send }
        defer { badges.bench.shard.leave() }
        badges.redis.isAway = true
        try badges.bench.bring([
            Self.request([1]), Self.request([2], key: "score"), Self.request([3]) { $0.notification.badge.set = 4 },
        ])
        badges.bench.wait(milliseconds: 30_000)
        #expect(badges.numbers.count == 3 && badges.numbers.compactMap(\.self) == [4])
        #expect(badges.redis.badgeKeys.isEmpty)
    }

    @Test("A number that makes the payload too long for its token makes a dead letter, and is taken back")
    func tooLong() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        let text = String(repeating: "x", count: 256 - #"{"aps":{"alert":""}}"#.utf8.count)
        try badges.bring(Self.request([1, 2]) { $0.notification.alert.body = text })
        #expect(try badges.kinds() == [.deadLettered, .deadLettered])
        #expect(badges.redis.badge == 0 && badges.numbers.isEmpty)
        try badges.bring(Self.request([1], key: "score") { $0.notification.alert.body = text })
        #expect(try badges.kinds().last == .deadLettered && badges.redis.badge == 0)
    }

    @Test("Without badges Redis is not asked for any")
    func withoutBadges() throws {
        let badges = Bench()
        defer { badges.bench.shard.leave() }
        try badges.bring(Self.request([1]) { $0.notification.clearBadge() })
        #expect(badges.numbers == [nil] && badges.redis.badgeKeys.isEmpty)
    }
}
