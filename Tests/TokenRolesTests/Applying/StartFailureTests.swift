import KafkaClient
import NIOCore
import NIOPosix
import PushTopics
import RedisClient
import Testing
import TokenState

@testable import PipelineTestSupport
@testable import TokenRoles

/// Starts that fail half-way: clients that are not closed would trap when they are let go.
@Suite("Clients whose start fails", .timeLimit(.minutes(1)))
struct StartFailureTests {
    private static let properties: KafkaProperties = ["bootstrap.servers": "127.0.0.1:1"]

    private func withLoop(_ body: @escaping @Sendable (any EventLoop) throws -> Void) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await eventLoop.submit { try body(eventLoop) }.get()
    }

    private static func redis(on eventLoop: any EventLoop) -> RedisCluster {
        RedisCluster(
            configuration: RedisCluster.Configuration(seeds: [RedisEndpoint(host: "127.0.0.1", port: 1)]) {
                RedisConnection.Configuration(endpoint: $0)
            },
            eventLoop: eventLoop
        )
    }

    @Test("A producer that cannot be started closes all clients of an applier")
    func applier() async throws {
        try await withLoop { eventLoop in
            let consumer = try KafkaConsumer(properties: Self.properties, group: "g", topics: ["t"])
            let producer = try KafkaProducer(properties: Self.properties)
            let redis = Self.redis(on: eventLoop)
            let clients = RecordApplier.Clients(
                consumer: consumer,
                producer: producer,
                redis: redis,
                layout: TokenStore.layout
            )
            redis.start()
            // The only failure that can be had at will: a closed client does not start.
            producer.close()
            let error = #expect(throws: KafkaError.self) {
                try clients.closedOnFailure { () throws(KafkaError) in
                    try consumer.start(on: eventLoop) {}
                    try producer.start(on: eventLoop) {}
                }
            }
            #expect(error?.isClosed == true)
            #expect(throws: KafkaError.self) { try consumer.start(on: eventLoop) {} }
        }
    }

    @Test("A producer that cannot be started closes the client of Redis beside it")
    func producer() async throws {
        try await withLoop { eventLoop in
            let producer = try KafkaProducer(properties: Self.properties)
            let redis = Self.redis(on: eventLoop)
            redis.start()
            producer.close()
            #expect(throws: KafkaError.self) { try producer.start(on: eventLoop, closing: redis) }
        }
    }
}
