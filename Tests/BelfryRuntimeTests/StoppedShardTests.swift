import NIOCore
import NIOEmbedded
import RedisClient
import Testing

@testable import BelfryRuntime
@testable import KafkaClient

@Suite("A shard that has stopped")
struct StoppedShardTests {
    /// Answers nothing until it is closed, and then at once that it is closed.
    private final class SilentRedis: RedisPipeline {
        private(set) var asked = 0
        private var waiting: [RedisConnection.Completion] = []
        private var isClosed = false

        /// Whoever asks a closed connection more often than that asks for ever.
        static let patience = 100

        var isReady: Bool { !isClosed }

        func start() {}

        func send(
            slot: RedisSlot,
            _ write: (inout RedisCommandWriter) -> Void,
            _ completion: @escaping RedisConnection.Completion
        ) {
            asked += 1
            if isClosed, asked < Self.patience { completion(.failure(.closed)) } else { waiting.append(completion) }
        }

        func evaluate(
            _ script: RedisScript,
            slot: RedisSlot,
            keyCount: Int,
            argumentCount: Int,
            _ write: (inout RedisCommandWriter) -> Void,
            _ completion: @escaping RedisConnection.Completion
        ) {
            send(slot: slot, write, completion)
        }

        func close() {
            isClosed = true
            let waiting = waiting
            self.waiting = []
            for completion in waiting { completion(.failure(.closed)) }
        }
    }

    @Test("what Redis did not answer before the end is not asked for again")
    func asksNothing() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SilentRedis()
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
        try addSender(to: shard)
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
        #expect(redis.asked == 1)
        shard.leave()
        eventLoop.run()
        #expect(redis.asked == 1)
    }

    /// Never connects.
    private final class SilentDoor: GatewayDoor, GatewayConnecting {
        let eventLoop: any EventLoop

        init(_ eventLoop: any EventLoop) {
            self.eventLoop = eventLoop
        }

        func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)? { self }
        func connect(_ lane: GatewayLane, attempt: Int) {}
        func placeName(of attempt: Int) -> String { "nowhere" }
        func noteFailure() {}
    }

    private func addSender(to shard: WorkerShard) throws {
        try Array("com.example.news".utf8).withUnsafeBytes { key in
            let nameless = UnsafeRawBufferPointer(start: nil, count: 0)
            _ = try shard.senders.find(key: key, environment: nameless) { index, environment, bundleID in
                shard.makeSender(index: index, environment: environment, bundleID: bundleID)
            }
        }
    }
}
