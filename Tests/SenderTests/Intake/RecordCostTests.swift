import APNsProtocol
import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas
import Testing
import TokenState

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// One record, or one fetched batch, does not hold a shard's event loop: its work is spread over turns.
@Suite("The work of one turn")
struct RecordCostTests {
    private typealias Bench = ShardBench

    /// More tokens than a turn makes payloads for.
    private static let count = ShardLimits.routedPerTurn / (1 + ShardLimits.workOfPayload) + 1000

    private static func token(_ number: Int) -> Data {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Data($0) + Data(repeating: 1, count: 24) }
    }

    /// A request whose tokens have numbers and badges of their own, from 0.
    private static var request: PushSendRequest {
        .with { request in
            request.notification.alert.body = "Hi"
            request.tokens = (0..<count).map { number in
                .with {
                    $0.raw = token(number)
                    $0.badge = UInt32(number)
                }
            }
        }
    }

    private func badges(_ bench: Bench) -> [Int] {
        bench.gateway.payloads.map { payload in
            let text = String(decoding: payload, as: UTF8.self)
            return text.firstMatch(of: /"badge":(\d+)/).flatMap { Int($0.1) } ?? -1
        }
    }

    @Test("A record with more payloads than fit into a turn is routed in several, in order, before the next one")
    func manyPayloads() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        let last = PushSendRequest.with {
            $0.notification.alert.body = "Ho"
            $0.packedTokens = Self.token(0)
        }
        try bench.bring([(Bench.news, Self.request), (Bench.news, last)])
        bench.shard.turn()
        #expect(bench.shard.stages.routing.unfinished != nil)
        // All payloads of tokens' own are made one at a time.
        #expect((bench.shard.stages.routing.unfinished?.batch.payloads.end ?? .max) < 200)
        bench.wait(milliseconds: 2000)
        #expect(bench.shard.stages.routing.unfinished == nil)
        #expect(badges(bench) == Array(0..<Self.count) + [-1])
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
    }

    @Test("Clients that have something while a turn is due wait for it: several turns would hold up the sockets")
    func turnThatIsDue() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([(Bench.news, Self.request)])
        bench.shard.turnUnlessDue()
        let sent = bench.shard.stages.gateway.sent
        #expect((1..<Self.count).contains(sent))
        for _ in 0..<10 { bench.shard.turnUnlessDue() }
        #expect(bench.shard.stages.gateway.sent == sent)
        bench.wait(milliseconds: 1)
        #expect(bench.shard.stages.gateway.sent > sent)
    }

    @Test("Finding out which tokens share a payload is work of the turn, as is making the payloads")
    func ownValues() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([(Bench.news, Self.request)])
        bench.shard.turn()
        let choices = Self.count * ShardLimits.workOfChoice
        let most = (ShardLimits.routedPerTurn - choices) / (1 + ShardLimits.workOfPayload) + 1
        #expect(bench.shard.stages.gateway.sent == most)
        // More tokens than a turn looks at.
        var request = Self.request
        request.tokens = (0..<ShardLimits.routedPerTurn / ShardLimits.workOfChoice + 1000).map { number in
            .with {
                $0.raw = Self.token(number)
                $0.badge = 0
            }
        }
        let other = Bench { $0.outcomes = .none }
        defer { other.shard.leave() }
        other.assign(0)
        try other.bring([(Bench.news, request)])
        other.shard.turn()
        #expect(other.shard.stages.routing.unfinished?.plan?.isComplete == false)
        #expect(other.shard.stages.gateway.sent == 0)
        other.wait(milliseconds: 1)
        #expect(other.shard.stages.gateway.sent > 0)
    }

    @Test("A payload that is copied for each token is as much work as it is long")
    func longPayload() throws {
        let bench = Bench { configuration in
            configuration.outcomes = .none
            configuration.environments[0].payloadLimitBytes = PayloadLimit.binaryIOS8
        }
        defer { bench.shard.leave() }
        bench.assign(0)
        let length = 8 * ShardLimits.payloadBytesPerUnit - 100
        let request = PushSendRequest.with {
            $0.payload = Data((#"{"aps":{"alert":""# + String(repeating: "x", count: length) + #""}}"#).utf8)
            $0.packedTokens = (0..<12_000).reduce(into: Data()) { $0 += Self.token($1) }
        }
        try bench.bring([(Bench.news, request)])
        bench.shard.turn()
        let sent = bench.shard.stages.gateway.sent
        #expect((1...(ShardLimits.routedPerTurn + ShardLimits.workAtOnce) / 8).contains(sent), "\(sent)")
        bench.wait(milliseconds: 2000)
        #expect(bench.shard.stages.gateway.sent == 12_000)
    }

    /// A request that asks Redis about each token twice.
    private static let asking = PushSendRequest.with {
        $0.notification.badge.add = 1
        $0.packedTokens = (0..<5000).reduce(into: Data()) { $0 += token($1) }
    }

    @Test("A record that asks Redis for much asks in several turns, and each notification is counted once")
    func asking() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = Bench(on: eventLoop, redis: redis) { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([(Bench.news, Self.asking)])
        bench.shard.turn()
        let counted = (ShardLimits.askedPerTurn - 5000 + ShardLimits.workOfBadge - 1) / ShardLimits.workOfBadge
        #expect(redis.badgeKeys.count == counted && bench.shard.stages.lookup.isUnfinished)
        bench.wait(milliseconds: 2000)
        #expect(badges(bench) == .init(repeating: 1, count: 5000) && redis.badgeKeys.count == 5000)
    }

    @Test("Questions that Redis had no room for are asked again, beside those still to be asked for the first time")
    func askingAgain() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = Bench(on: eventLoop, redis: redis) { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        redis.refusals[.calls(BadgeScript.change)] = .init(repeating: .notSent(reason: "no room"), count: 100)
        try bench.bring([(Bench.news, Self.asking)])
        bench.wait(milliseconds: 500)
        #expect(bench.gateway.payloads.isEmpty && redis.badgeKeys.count == 4900)
        bench.wait(milliseconds: 2000)
        #expect(badges(bench) == .init(repeating: 1, count: 5000) && redis.badgeKeys.count == 5000)
    }

    private static func coalesced(_ count: Int) -> PushSendRequest {
        PushSendRequest.with {
            $0.coalescingKey = "k"
            $0.packedTokens = (0..<count).reduce(into: Data()) { $0 += Self.token($1) }
        }
    }

    /// The most requests that stop waiting in one turn of many.
    private func mostLeaving(_ bench: Bench) -> Int {
        var (waiting, most) = (bench.shard.stages.coalescing.count, 0)
        for _ in 0..<2000 {
            bench.eventLoop.advanceTime(by: .socketTurn)
            let now = bench.shard.stages.coalescing.count
            most = max(most, waiting - now)
            waiting = now
        }
        return most
    }

    @Test("Coalesced requests that are due together go in several turns")
    func coalesced() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        let count = 4 * ShardLimits.dueAtOnce
        bench.group.cachedEnd = 1
        try bench.bring([(Bench.news, Self.coalesced(count))])
        // A tick may have its turn beside another one.
        #expect((1...2 * ShardLimits.dueAtOnce).contains(mostLeaving(bench)))
        bench.wait(milliseconds: 6000)
        #expect(bench.gateway.payloads.count == count)
        #expect(!bench.shard.stages.coalescing.isUnfinished)
    }

    @Test("Coalesced requests whose topic is fed anew leave in several turns, and are sent once when they come again")
    func leaving() throws {
        let bench = Bench {
            $0.outcomes = .none
            $0.worker.coalescingWindow = .seconds(5)
        }
        defer { bench.shard.leave() }
        bench.assign(0)
        let count = 4 * ShardLimits.dueAtOnce
        bench.group.cachedEnd = 1
        try bench.bring([(Bench.news, Self.coalesced(count))])
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.stages.coalescing.count == count)
        bench.pull(.pause)
        #expect((1...2 * ShardLimits.dueAtOnce).contains(mostLeaving(bench)))
        #expect(bench.shard.stages.coalescing.count == 0 && bench.gateway.payloads.isEmpty)
        bench.pull()
        bench.wait(milliseconds: 20_000)
        #expect(bench.gateway.payloads.count == count)
        #expect(bench.shard.report().counters.outcomes[.superseded] == 0)
    }

    @Test("The rest of a record whose partition goes meanwhile is left to the next owner")
    func revoked() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([(Bench.news, Self.request)])
        bench.shard.turn()
        #expect(bench.shard.stages.routing.unfinished != nil)
        bench.shard.revoke([bench.place(0)], lost: true)
        bench.wait(milliseconds: 2000)
        #expect(bench.shard.stages.routing.unfinished == nil)
        #expect(bench.gateway.payloads.count < Self.count)
    }

    @Test("Tokens of one record without a payload are one dead letter, in whichever turn they come")
    func unrendered() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        var request = Self.request
        request.notification.alert.locKey = "k"
        let long = [3, 7, Self.count - 1]
        for index in long { request.tokens[index].locArgs = [String(repeating: "x", count: 5000)] }
        try bench.bring([(Bench.news, request)])
        bench.wait(milliseconds: 2000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.count == 1)
        #expect(letters.first?.header("token-indices") == "3,7,\(Self.count - 1)")
        #expect(badges(bench) == (0..<Self.count).filter { !long.contains($0) })
    }

    @Test("A turn takes in two MiB of records, or one more record, whatever becomes of them")
    func bytes() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        let broken = PushSendRequest.with {
            $0.payload = Data(repeating: 0x20, count: 900_000)
            $0.packedTokens = Self.token(0)
        }
        try bench.bring(.init(repeating: (Bench.news, broken), count: 8))
        bench.shard.turn()
        #expect(bench.shard.stages.intake.counters.records == 4, "two batches of two")
        #expect(bench.shard.stages.live.hasLeftovers)
        bench.wait(milliseconds: 100)
        #expect(bench.shard.stages.intake.counters.records == 8)
    }

    @Test("A record that cannot be used in place counts as several that can")
    func decodedBytes() throws {
        let bench = Bench { $0.outcomes = .none }
        defer { bench.shard.leave() }
        bench.assign(0)
        let request = PushSendRequest.with {
            $0.notification.alert.body = String(repeating: "x", count: 300_000)
            $0.notification.shorten = true
            $0.packedTokens = Self.token(0)
        }
        try bench.bring(.init(repeating: (Bench.news, request), count: 8))
        bench.shard.turn()
        #expect(bench.shard.stages.intake.counters.records == 2, "two batches of one")
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.payloads.count == 8)
    }

    @Test("Tokens that are wrong in turns are put into words once for each reason")
    func alternatingFaults() {
        var faults = TokenFaults()
        var words = 0
        func refusal(_ reason: String) -> RecordRefusal {
            words += 1
            return RecordRefusal(reason: reason, detail: "")
        }
        for position in 0..<32_768 as Range<UInt32> {
            let reason = position.isMultiple(of: 2) ? "token-missing" : "token-length"
            faults.add(reason, refusal(reason), at: position)
        }
        #expect(words == 2 && faults.found.map(\.tokens.count) == [16_384, 16_384])
    }
}
