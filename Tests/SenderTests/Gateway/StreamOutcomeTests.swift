import APNsProtocol
import BelfrySupport
import Foundation
import NIOCore
import NIOEmbedded
import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// From the answers of the provider API to outcomes, tombstones and the topic's health.
@Suite("Answers of the provider API")
struct StreamOutcomeTests {
    private typealias Bench = ShardBench

    /// Kind, status and reason of the outcomes, in order.
    private func outcomes(of bench: Bench) throws -> [String] {
        try bench.outcomes().map { "\($0.kind) \($0.status) \($0.reason)" }
    }

    private func rejected(_ status: Int, _ reason: String) -> String {
        "\(PushOutcomeKind.rejected) \(status) \(reason)"
    }

    private func counters(of bench: Bench, _ bundleID: String = Bench.news) -> WorkerAppCounters? {
        bench.shard.report().topics.first { $0.bundleID == bundleID }?.counters
    }

    // MARK: Outcomes

    @Test("A success is a confirmation, and nothing is presumed")
    func confirmed() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...200)), (Bench.sport, [1]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.outcomes().map(\.kind) == Array(repeating: .confirmed, count: 201))
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
    }

    @Test("A refusal's outcome has status and reason; others of the record are not concerned")
    func refused() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 2 ? .refuse(.badCollapseID) : .accept }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.wait(milliseconds: 500)
        #expect(try outcomes(of: bench).filter { $0 == rejected(400, "BadCollapseId") }.count == 1)
        #expect(try bench.offsets(.confirmed).count == 2)
        let counters = try #require(self.counters(of: bench))
        #expect(counters.errorResponses == [400: 1] && counters.reasons == ["BadCollapseId": 1])
    }

    @Test("The memory for accepted tokens is only made for a topic that the service accepts something of")
    func acceptedTokens() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 2 ? .refuse(.deviceTokenNotForTopic) : .accept }
        bench.assign(0)
        for (token, isMade) in [(1, false), (2, false), (3, true)] as [(UInt8, Bool)] {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: 200)
            #expect((bench.streamLane(Bench.news)?.acceptedTokenBytes != nil) == isMade, "after token \(token)")
        }
    }

    @Test("An unknown reason is told in the outcome, and is no label")
    func unknownReason() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(ProviderReason(rawValue: "NovelReason"), status: 413) }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        #expect(try outcomes(of: bench) == [rejected(413, "NovelReason")])
        #expect(counters(of: bench)?.reasons == ["other": 1])
    }

    @Test("A defect of ours is a dead letter with the answer")
    func deadLetter() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 1 ? .refuse(.badPath) : .accept }
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2]))
        bench.wait(milliseconds: 7000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == ["gateway-status-404"])
        #expect(letters.first?.header("detail")?.contains("404 BadPath") == true)
        #expect(try bench.offsets(.deadLettered) == [0] && bench.offsets(.confirmed) == [0])
    }

    @Test("429 for a token goes again for a limited time and is rejected then; other tokens go on")
    func tooMany() throws {
        let bench = Bench(over: .http2) { $0.worker.retryFor = .seconds(5) }
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 9 ? .refuse(.tooManyRequests) : .accept }
        bench.assign(0)
        try bench.bring((Bench.news, [9, 1]), (Bench.news, [2]))
        bench.wait(milliseconds: 500)
        #expect(try bench.offsets(.confirmed) == [0, 1])
        bench.wait(milliseconds: 30_000)
        #expect(try outcomes(of: bench).last == rejected(429, "TooManyRequests"))
        #expect(try bench.outcomes().count == 3 && bench.service.tokens(of: Bench.news).count { $0 == 9 } > 2)
        #expect(counters(of: bench)?.resent == 0, "none of them was taken")
    }

    @Test("429 for the token of a probe shows that the service works")
    func tooManyWhileProbing() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(.forbidden) }
        bench.assign(0)
        try bench.bring((Bench.news, [9]), (Bench.news, [1]))
        bench.wait(milliseconds: 200)
        #expect(bench.reason(Bench.news) == "topic-refused")
        bench.service.reply = { $0.token == 9 ? .refuse(.tooManyRequests) : .accept }
        bench.wait(milliseconds: 3000)
        #expect(bench.reason(Bench.news) == nil && bench.service.accepted(of: Bench.news) == [1])
    }

    // MARK: Tokens

    /// A shard with token state, whose clock stands at 1,700,000,000, and that of Redis a little later.
    private func withRedis(_ test: (Bench, SimulatedRedis) throws -> Void) throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        redis.clock = 1_700_000_005_000
        let bench = Bench(on: eventLoop, over: .http2, redis: redis)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.assign(0)
        try test(bench, redis)
    }

    /// Without the memory of accepted tokens.
    private func usedBytes(of bench: Bench) -> Int {
        bench.shard.stages.group.memory.budget.usedBytes - (bench.streamLane(Bench.news)?.acceptedTokenBytes ?? 0)
    }

    @Test("410 is a tombstone of the time that the service names, whatever else it has accepted")
    func dead() throws {
        try withRedis { bench, redis in
            bench.service.reply = { _ in .refuse(.unregistered, deadSince: 1_600_000_000_999) }
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 1000)
            #expect(redis.tombstones == [1_600_000_000])
            #expect(try outcomes(of: bench) == [rejected(410, "Unregistered")])
            #expect(usedBytes(of: bench) == 0 && bench.reason(Bench.news) == nil)
        }
    }

    @Test("A time of death that lies ahead of our clocks is cut to them")
    func deadLater() throws {
        try withRedis { bench, redis in
            bench.service.reply = { _ in .refuse(.expiredToken, deadSince: 1_800_000_000_000) }
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 1000)
            #expect(redis.tombstones.count == 1 && (redis.tombstones.first ?? .max) <= 1_700_000_005)
        }
    }

    @Test("Requests that wait when Redis has their token as dead are silent, and the others are sent")
    func waitingForDead() throws {
        try withRedis { bench, _ in
            bench.service.reply = { $0.token == 1 ? .wait : .accept }
            try bench.bring((Bench.news, [1, 2]), (Bench.news, [1, 3]), (Bench.news, [1]), (Bench.news, [1]))
            bench.wait(milliseconds: 500)
            bench.service.peers[0].answerAll(.refuse(.unregistered, deadSince: 1_600_000_000_000))
            bench.wait(milliseconds: 500)
            #expect(bench.service.accepted(of: Bench.news).sorted() == [2, 3])
            #expect(try bench.offsets(.rejected) == [0] && bench.offsets(.tombstoned) == [2, 3])
            #expect(bench.service.tokens(of: Bench.news).count { $0 == 1 } == 2, "one left before Redis had answered")
        }
    }

    @Test("410 of a time before the last registration: what waits is sent")
    func deadBeforeRegistration() throws {
        try withRedis { bench, redis in
            redis.register(1, ofBundle: Bench.news, at: 1_650_000_000)
            bench.service.reply = { $0.token == 1 ? .wait : .accept }
            try bench.bring((Bench.news, [1]), (Bench.news, [1]), (Bench.news, [1]))
            bench.wait(milliseconds: 500)
            bench.service.reply = { _ in .accept }
            bench.service.peers[0].answerAll(.refuse(.unregistered, deadSince: 1_600_000_000_000))
            bench.wait(milliseconds: 500)
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 500)
            #expect(redis.tombstones == [1_600_000_000], "Redis has the last word")
            #expect(try bench.offsets(.rejected) == [0] && bench.offsets(.confirmed) == [1, 2, 3])
            #expect(try bench.offsets(.tombstoned).isEmpty && usedBytes(of: bench) == 0)
        }
    }

    @Test("410 while Redis is away: what waits is sent, until Redis has the token as dead")
    func deadWhileRedisIsAway() throws {
        try withRedis { bench, redis in
            bench.service.reply = { _ in .wait }
            try bench.bring((Bench.news, [1]), (Bench.news, [1]), (Bench.news, [1]))
            bench.wait(milliseconds: 500)
            redis.isAway = true
            for _ in 1...2 {
                bench.service.peers[0].answerAll(.refuse(.unregistered, deadSince: 1_600_000_000_000))
                bench.wait(milliseconds: 500)
            }
            #expect(try bench.offsets(.rejected) == [0, 1] && bench.offsets(.tombstoned).isEmpty)
            redis.isAway = false
            bench.wait(milliseconds: 5000)
            bench.service.peers[0].answerAll(.refuse(.unregistered, deadSince: 1_600_000_000_000))
            bench.wait(milliseconds: 500)
            #expect(try bench.offsets(.rejected) == [0, 1, 2] && !redis.tombstones.isEmpty)
            try bench.bring((Bench.news, [2]))
            bench.wait(milliseconds: 500)
            #expect(usedBytes(of: bench) > 0, "one is under way")
        }
    }

    @Test(
        "A token that may be one of another environment gets a tombstone once the service has accepted a later request",
        arguments: [ProviderReason.badDeviceToken, .deviceTokenNotForTopic]
    )
    func refusedToken(reason: ProviderReason) throws {
        try withRedis { bench, redis in
            bench.service.reply = { $0.token == 9 ? .refuse(reason) : .accept }
            try bench.bring((Bench.news, [1, 9]))
            bench.wait(milliseconds: 1000)
            #expect(try outcomes(of: bench).contains(rejected(400, reason.rawValue)))
            #expect(redis.tombstones.isEmpty, "what was accepted was sent before")
            bench.setClock(unixSeconds: 1_700_000_002)
            try bench.bring((Bench.news, [2]))
            bench.wait(milliseconds: 1000)
            #expect(redis.tombstones == [1_700_000_000])
            #expect(bench.service.peers.count == 1, "over the same connection")
            #expect(usedBytes(of: bench) == 0)
        }
    }

    private static let voipTopic = Bench.news + ".voip"

    /// A record with the push type `voip`.
    private func voip(_ token: UInt8) -> (bundleID: String, request: PushSendRequest) {
        (
            Bench.news,
            PushSendRequest.with {
                $0.pushType = "voip"
                $0.packedTokens = Data(repeating: token, count: 32)
            }
        )
    }

    @Test("A token that is refused for VoIP still gets its alerts; only its VoIP notifications are silent")
    func refusedForVoIP() throws {
        try withRedis { bench, redis in
            redis.register(9, ofBundle: Bench.news, at: 1_600_000_000)
            bench.service.reply = { $0.topic == Self.voipTopic ? .refuse(.deviceTokenNotForTopic) : .accept }
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 500)
            try bench.bring([voip(9)])
            bench.wait(milliseconds: 500)
            bench.setClock(unixSeconds: 1_700_000_002)
            try bench.bring((Bench.news, [2]))
            bench.wait(milliseconds: 1000)
            #expect(redis.tombstones == [1_700_000_000])
            let told = try bench.producer.records(of: "push.tombstones").map {
                try PushTombstone(serializedBytes: $0.value)
            }
            #expect(told.map(\.tombstonedAt) == [0] && told.first?.refused.map(\.kind) == [.voip])
            try bench.bring([voip(9)])
            try bench.bring((Bench.news, [9]))
            bench.wait(milliseconds: 1000)
            #expect(try bench.offsets(.tombstoned) == [3])
            #expect(bench.service.accepted(of: Bench.news) == [1, 2, 9])
            #expect(bench.service.tokens(of: Self.voipTopic) == [9])
        }
    }

    @Test("While the refusal for VoIP waits to be believed, the token's alerts go on, too")
    func waitingForVoIP() throws {
        try withRedis { bench, _ in
            bench.service.reply = { $0.topic == Self.voipTopic ? .wait : .accept }
            try bench.bring((Bench.news, [1]))
            bench.wait(milliseconds: 500)
            try bench.bring([voip(9), voip(9)])
            try bench.bring((Bench.news, [9]))
            bench.wait(milliseconds: 500)
            bench.service.peers[0].answerAll(.refuse(.deviceTokenNotForTopic))
            bench.wait(milliseconds: 500)
            try bench.bring([voip(9)])
            bench.wait(milliseconds: 500)
            #expect(try bench.offsets(.rejected) == [1] && bench.offsets(.tombstoned) == [2, 4])
            #expect(bench.service.accepted(of: Bench.news) == [1, 9])
        }
    }

    @Test("A service that accepts nothing is not believed, and too large a share of refused tokens stops the topic")
    func doubted() throws {
        try withRedis { bench, redis in
            bench.service.reply = { _ in .refuse(.badDeviceToken) }
            try bench.bring((Bench.news, Array(1...250)), (Bench.sport, [1]))
            bench.wait(milliseconds: 40_000)
            #expect(redis.tombstones.isEmpty && bench.reason(Bench.news) == "tokens-doubted")
            #expect(bench.reason(Bench.sport) == nil)
        }
    }

    // MARK: Topics that do not work

    @Test("403 stops its topic, which lags alone; when it works again all of it is sent once, in order")
    func topicRefused() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Bench.sport ? .refuse(.badCertificate) : .accept }
        bench.assign(0)
        for token in 1...20 as ClosedRange<UInt8> {
            try bench.bring((Bench.sport, [token]), (Bench.news, [100 + token]))
        }
        bench.wait(milliseconds: 5000)
        #expect(bench.service.accepted(of: Bench.news) == Array(101...120))
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.reason(Bench.news) == nil)
        #expect(bench.committed()?.offset == 40)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])

        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...20))
        #expect(bench.committed()?.offset == 40 && bench.committed()?.metadata == "3;")
        #expect(try bench.offsets(.confirmed).count == 40)
    }

    @Test("A few 5xx go again; many stop the topic, which lags at its cursor, so that nothing waits in memory")
    func serviceTrouble() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        var troubles = 3
        bench.service.reply = { _ in
            troubles -= 1
            return troubles >= 0 ? .refuse(.internalServerError) : .accept
        }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...10)))
        bench.wait(milliseconds: 3000)
        #expect(bench.service.accepted(of: Bench.news).sorted() == Array(1...10) && bench.reason(Bench.news) == nil)

        bench.service.reply = { _ in .refuse(.serviceUnavailable) }
        for token in 1...50 as ClosedRange<UInt8> { try bench.bring((Bench.news, [token])) }
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.news) == "service-trouble")
        #expect((bench.streamLane(Bench.news)?.waitingCount ?? .max) <= 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.news): 1])

        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(Array(bench.service.accepted(of: Bench.news).dropFirst(10)) == Array(1...50))
        #expect(bench.reason(Bench.news) == nil && bench.committed()?.metadata == "3;")
    }
}
