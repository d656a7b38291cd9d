import NIOEmbedded
import Testing

@testable import Sender
@testable import SimulatedServers

@Suite("A shard that has stopped")
struct StoppedShardTests {
    @Test("Questions that Redis did not answer before the end are not asked again")
    func asksNothing() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        redis.isMute = true
        let bench = CoalescingBench(on: eventLoop, redis: redis)
        try bench.bring((1, ""))
        bench.wait(milliseconds: 20)
        #expect(redis.count("HGET") == 1)
        bench.shard.leave()
        eventLoop.run()
        #expect(redis.count("HGET") == 1)
    }
}
