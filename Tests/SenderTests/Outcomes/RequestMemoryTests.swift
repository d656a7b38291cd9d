import Foundation
import NIOEmbedded
import PushSchemas
import RedisClient
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Requests that arrive one after the other, and a Redis that does not take each at once.
@Suite("The memory of requests")
struct RequestMemoryTests {
    private typealias Bench = ShardBench

    private let eventLoop = EmbeddedEventLoop()
    private let redis: SimulatedRedis

    private static let lost = RedisError.maybeExecuted(reason: "the connection was lost")
    private static let noRight = RedisError.server(prefix: "NOPERM", message: "this user has no permissions")
    private static let wrongType = RedisError.server(prefix: "WRONGTYPE", message: "")

    /// Refuses the next requests that it is to remember, each with the first of these.
    private let refusals = Refusals()

    private final class Refusals {
        var errors: [RedisError] = []
    }

    init() {
        redis = SimulatedRedis(on: eventLoop)
        redis.fate = { [refusals] command in
            let isRequest = command.name == "SET" && command.words.count == 5
            return isRequest && !refusals.errors.isEmpty ? .failed(refusals.errors.removeFirst()) : .runs
        }
    }

    private func makeBench(_ redis: SimulatedRedis, sendsWithoutRedis: Bool = false) -> Bench {
        let bench = Bench(on: eventLoop, redis: redis) {
            $0.worker.dedupeWindow = .seconds(3600)
            $0.redis.whenAway = sendsWithoutRedis ? .send : .wait
            $0.redis.awayAfter = .seconds(5)
        }
        bench.assign(0)
        return bench
    }

    /// A request to one token, of 32 times the same byte.
    private func request(_ id: String, to token: UInt8) -> (bundleID: String, request: PushSendRequest) {
        let request = PushSendRequest.with {
            $0.requestID = id
            $0.packedTokens = Data(repeating: token, count: 32)
        }
        return (Bench.news, request)
    }

    /// The offsets of the requests that Redis remembers, in order: each was asked for once, in the log's order.
    private var remembered: [Int] { redis.remembered.compactMap { redis.askedRequests.firstIndex(of: $0) } }

    @Test("Behind a request that Redis did not take, newer ones of its token wait until it does; others do not")
    func inOrder() throws {
        refusals.errors = [Self.lost]
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1)])
        bench.wait(milliseconds: 500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && refusals.errors.isEmpty && remembered.isEmpty)
        try bench.bring([request("b", to: 1), request("c", to: 1), request("d", to: 2)])
        bench.wait(milliseconds: 500)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1, 1, 2] && remembered == [3])
        #expect(try bench.offsets(.presumed) == [3])
        bench.wait(milliseconds: 1000)
        #expect(remembered == [3, 0, 1, 2])
        #expect(try bench.offsets(.presumed) == [3, 0, 1, 2])
        #expect(bench.lines.messages.count { $0.contains("could not be remembered") } == 1)
    }

    @Test("One id for one token of two bundles is two requests, under way together or one after the other")
    func twoBundles() throws {
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        let (_, request) = request("a", to: 1)
        for _ in 0..<2 { try bench.bring([(Bench.news, request), (Bench.sport, request)]) }
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && bench.gateway.accepted(of: Bench.sport) == [1])
        #expect(try bench.offsets(.presumed) == [0, 1] && bench.offsets(.duplicate) == [2, 3])
    }

    @Test("Of two requests that arrive together, the newer one is remembered when Redis has the older one")
    func together() throws {
        refusals.errors = [Self.lost]
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1), request("b", to: 1)])
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1] && refusals.errors.isEmpty && remembered.isEmpty)
        bench.wait(milliseconds: 1000)
        #expect(remembered == [0, 1])
    }

    @Test("The next owner, if Redis lacks an older request, sends the newer one behind it once more")
    func takenOver() throws {
        refusals.errors = [Self.lost]
        let first = makeBench(redis)
        try first.bring([request("a", to: 1)])
        first.wait(milliseconds: 500)
        try first.bring([request("b", to: 1)])
        first.wait(milliseconds: 500)
        #expect(first.gateway.accepted(of: Bench.news) == [1, 1])
        // It dies: nothing it would still say is heard.
        first.shard.leave()

        let heir = SimulatedRedis(on: eventLoop)
        for key in redis.remembered { heir.server[key] = "1" }
        let second = makeBench(heir)
        defer { second.shard.leave() }
        second.group.batches.append(KafkaBatch(first.reader.records))
        second.wait(milliseconds: 1000)
        #expect(second.gateway.accepted(of: Bench.news) == [1, 1])
    }

    @Test("A request that Redis refuses for good holds up no other; newer ones of its token are not remembered either")
    func refusedForGood() throws {
        refusals.errors = [Self.lost]
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1)])
        bench.wait(milliseconds: 500)
        try bench.bring([request("b", to: 1), request("c", to: 2)])
        bench.wait(milliseconds: 500)
        #expect(remembered == [2])
        refusals.errors = [Self.wrongType]
        bench.wait(milliseconds: 1000)
        #expect(remembered == [2] && refusals.errors.isEmpty)
        #expect(try bench.offsets(.presumed) == [2, 0, 1])
        #expect(bench.committed()?.offset == 3 && bench.committed()?.metadata == "3;")
    }

    @Test("A repetition stays one when only the question about its token is asked again")
    func askedAgain() throws {
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1)])
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1] && remembered == [0])
        redis.fate = { [redis] command in
            guard command.name == "GET", !redis.askedRequests.contains(command.words[1]) else { return .runs }
            redis.fate = { _ in .runs }
            return .failed(Self.lost)
        }
        try bench.bring([request("a", to: 1)])
        bench.wait(milliseconds: 3000)
        #expect(redis.askedRequests.count == 2)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
        #expect(try bench.offsets(.duplicate) == [1] && bench.committed()?.offset == 2)
    }

    @Test("Without the right to write a request is not taken for remembered: it waits until the right is there")
    func missingRight() throws {
        refusals.errors = [Self.noRight]
        let bench = makeBench(redis)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1)])
        bench.wait(milliseconds: 900)
        #expect(try remembered.isEmpty && bench.laggards() == [Bench.hash(Bench.news): 0])
        bench.wait(milliseconds: 2000)
        #expect(try remembered == [0] && bench.laggards().isEmpty)
    }

    @Test("When sending goes on without Redis, all that waits for it is settled, the oldest first")
    func withoutRedis() throws {
        let bench = makeBench(redis, sendsWithoutRedis: true)
        defer { bench.shard.leave() }
        try bench.bring([request("a", to: 1), request("b", to: 1), request("c", to: 2)])
        bench.wait(milliseconds: 100)
        #expect(bench.gateway.accepted(of: Bench.news) == [1, 1, 2])
        redis.isMute = true
        bench.wait(milliseconds: 900)
        #expect(try bench.offsets(.presumed).isEmpty)
        try bench.bring([request("d", to: 1)])
        bench.wait(milliseconds: 10_000)
        #expect(try bench.offsets(.presumed) == [0, 1, 2, 3])
        #expect(redis.remembered.isEmpty)
    }
}
