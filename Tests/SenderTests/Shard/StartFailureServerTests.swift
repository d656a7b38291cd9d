import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics
import RedisClient
import Testing
import TokenState

@testable import PipelineTestSupport
@testable import Sender

@Suite("A shard whose start fails", .timeLimit(.minutes(1)))
struct StartFailureServerTests {
    @Test("A client that cannot be started closes the others, and the shard has stopped")
    func connecting() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await eventLoop.submit {
            let properties: KafkaProperties = ["bootstrap.servers": "127.0.0.1:1"]
            let consumer = try KafkaConsumer(properties: properties, group: "g", topics: ["t"])
            let producer = try KafkaProducer(properties: properties)
            let redis = RedisCluster(
                configuration: RedisCluster.Configuration(seeds: [RedisEndpoint(host: "127.0.0.1", port: 1)]) {
                    RedisConnection.Configuration(endpoint: $0)
                },
                eventLoop: eventLoop
            )
            let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            let shard = WorkerShard(
                ShardSettings(BelfryConfiguration(), unixMilliseconds: { 0 }, randomBits: { 35 }),
                number: 0,
                eventLoop: eventLoop,
                clients: WorkerShard.Clients(
                    consumer: consumer,
                    producer: producer,
                    tokens: TokenTable(redis, TokenStore.layout),
                    connectors: MemoryGateway(eventLoop),
                    makeReader: { () throws(KafkaError) in try KafkaReader(properties: properties) },
                    filters: nil
                ),
                logger: logger
            )
            producer.close()
            #expect(throws: KafkaError.self) {
                try shard.connect(
                    consumer,
                    producer,
                    redis,
                    KafkaReports(health: RoleHealth(), logger: logger),
                    RedisLog(logger: logger)
                )
            }
            #expect(shard.isStopped)
            #expect(throws: KafkaError.self) { try consumer.start(on: eventLoop) {} }
        }.get()
    }
}
