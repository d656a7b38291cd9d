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

        func send(_ write: (inout RedisCommandWriter) -> Void, _ completion: @escaping RedisConnection.Completion) {
            asked += 1
            if isClosed, asked < Self.patience { completion(.failure(.closed)) } else { waiting.append(completion) }
        }

        func evaluate(
            _ script: RedisScript,
            keyCount: Int,
            argumentCount: Int,
            _ write: (inout RedisCommandWriter) -> Void,
            _ completion: @escaping RedisConnection.Completion
        ) {
            send(write, completion)
        }

        func close() {
            isClosed = true
            let waiting = waiting
            self.waiting = []
            for completion in waiting { completion(.failure(.closed)) }
        }
    }

    @Test("what Redis did not answer before the end is not asked for again")
    func asksNothing() {
        let eventLoop = EmbeddedEventLoop()
        let redis = SilentRedis()
        let shard = WorkerShard.scripted(ScriptedGroup(), redis: redis, on: eventLoop)
        shard.start()
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
}
