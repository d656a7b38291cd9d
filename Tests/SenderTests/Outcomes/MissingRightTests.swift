import NIOEmbedded
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

@Suite("A worker whose Redis user lacks a right")
struct MissingRightTests {
    private typealias Bench = ShardBench

    @Test(
        "Without the right to read tokens nothing is sent until it is given: dead tokens stay silent",
        arguments: [
            ("NOPERM", "this user has no permissions to run the 'hget' command"), ("ERR", "unknown command 'HGET'"),
        ]
    )
    func reading(prefix: String, message: String) throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        redis.fate = { $0.name == "HGET" ? .failed(.server(prefix: prefix, message: message)) : .runs }
        let bench = Bench(on: eventLoop, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted.isEmpty && bench.lines.messages.contains("token state could not be read"))
        redis.fate = { _ in .runs }
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }

    @Test("A token whose state has an unknown form is sent to without it, and holds up no other")
    func unknownForm() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        redis.fate = { $0.name == "HGET" ? .answered(.wrongType) : .runs }
        let bench = Bench(on: eventLoop, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }
}
