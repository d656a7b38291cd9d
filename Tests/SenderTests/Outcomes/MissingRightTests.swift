import NIOEmbedded
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import Sender

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
        let redis = ScriptedRedis(on: eventLoop)
        redis.refusal = .server(prefix: prefix, message: message)
        let bench = Bench(on: eventLoop, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted.isEmpty && bench.lines.messages.contains("token state could not be read"))
        redis.refusal = nil
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }

    @Test("A token whose state has an unknown form is sent to without it, and holds up no other")
    func unknownForm() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = ScriptedRedis(on: eventLoop)
        redis.refusal = .server(prefix: "WRONGTYPE", message: "Operation against a key holding the wrong kind of value")
        let bench = Bench(on: eventLoop, redis: redis)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])
    }
}
