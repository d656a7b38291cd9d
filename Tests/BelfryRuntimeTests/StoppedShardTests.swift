import NIOCore
import NIOEmbedded
import RedisClient
import Testing

@testable import BelfryRuntime
@testable import KafkaClient

@Suite("A shard that has stopped")
struct StoppedShardTests {
    @Test("what Redis did not answer before the end is not asked for again")
    func asksNothing() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = ScriptedRedis(on: eventLoop)
        redis.isMute = true
        var configuration = BelfryConfiguration()
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [])]
        let shard = WorkerShard.scripted(
            ScriptedGroup(),
            configuration: configuration,
            redis: redis,
            gateways: SilentDoor(eventLoop),
            on: eventLoop
        )
        shard.start()
        try shard.addSender("com.example.news")
        let batch = PreparedBatch(source: KafkaBatch([]), number: 1)
        batch.append(
            PreparedNotification(
                reference: .init(assignment: 0, record: 0, token: 0),
                token: UnsafeRawBufferPointer(start: nil, count: 0),
                checksum: 0,
                sender: 0,
                payloadOffset: 0,
                payloadBytes: 0,
                priority: .immediate,
                expiration: 0
            )
        )
        shard.prepared.append(batch)
        shard.requestTokenState()
        #expect(redis.questions == 1)
        shard.leave()
        eventLoop.run()
        #expect(redis.questions == 1)
    }
}
