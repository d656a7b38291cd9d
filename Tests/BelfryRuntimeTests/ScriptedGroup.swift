import Logging
import NIOCore
import NIOEmbedded
import PipelineCore

@testable import BelfryRuntime
@testable import KafkaClient
@testable import RedisClient

/// A member of a group that remembers what a shard answers.
final class ScriptedGroup: GroupConsumer {
    /// Of every partition; nil: the broker does not answer.
    var committedOffset: Int64?
    /// What the broker has instead.
    var committedPositions: [KafkaTopicPartition: KafkaPartitionOffset] = [:]
    /// Where every partition ends.
    var end: Int64 = 0
    /// Where every partition is known to end without asking; nil: nowhere.
    var cachedEnd: Int64?
    /// What is consumed.
    var batches: [KafkaBatch] = []
    private(set) var answers: [[KafkaPartitionOffset]] = []
    private(set) var revocations = 0
    private(set) var commits: [[KafkaPartitionOffset]] = []

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        batches.isEmpty ? nil : batches.removeFirst()
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        commits.append(offsets)
    }

    func commitSynchronously(_ offsets: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {}

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        guard let committedOffset else { throw KafkaError.closed("positions") }
        return partitions.map { committedPositions[$0] ?? KafkaPartitionOffset($0, offset: committedOffset) }
    }

    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError) {
        answers.append(positions)
    }

    func completeRevoke() throws(KafkaError) {
        revocations += 1
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {}

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {}

    func seek(to positions: [KafkaPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {}

    func watermarks(of place: KafkaTopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaWatermarks {
        KafkaWatermarks(low: 0, high: end)
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? {
        cachedEnd.map { KafkaWatermarks(low: 0, high: $0) }
    }

    func close(timeoutMilliseconds: Int32) -> Bool { true }
}

/// Takes everything, remembers it, and never reports on it.
final class SilentProducer: MessageProducer {
    /// Topic and headers, in the order they came.
    private(set) var messages: [(topic: String, headers: [(String, [UInt8])])] = []

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        messages.append((name, headers))
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        messages.append((name, headers))
    }

    func poll(timeoutMilliseconds: Int32) {}

    func close(flushMilliseconds: Int32) {}
}

/// Reads from push.parked what it was given.
final class ScriptedReader: PartitionReader {
    var batches: [KafkaBatch] = []
    /// Where it was told to begin, each time.
    private(set) var begins: [Int64] = []

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        begins.append(offset)
    }

    func stop(_ place: KafkaTopicPartition) {}

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        batches.isEmpty ? nil : batches.removeFirst()
    }

    func close() {}
}

/// Knows nothing of any token, and answers for windows what it is told. While it is away nothing is answered in time; while it
/// is mute, nothing before it is closed. What it has no room for is refused at once.
final class ScriptedRedis: RedisPipeline {
    var isAway = false
    var isMute = false
    /// For how many more questions, calls of scripts apart.
    var room = Int.max
    /// The answer of ``CoalesceScript``: milliseconds.
    var window: Int64 = 0
    private(set) var questions = 0
    private(set) var windowQuestions = 0
    private let eventLoop: EmbeddedEventLoop
    private var unanswered: [RedisConnection.Completion] = []
    private var isClosed = false
    private static let timeout = TimeAmount.seconds(1)
    /// Whoever asks a closed connection more often than that asks for ever.
    private static let patience = 100

    init(on eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
    }

    var isReady: Bool { !isAway && !isClosed }

    func start() {}

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        guard room > 0 else {
            questions += 1
            return completion(.failure(.server(prefix: "ERR", message: "no room")))
        }
        room -= 1
        answer(.init(kind: .null, count: 0, value: 0), completion)
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        let isWindow = script.digest == CoalesceScript.coalesce.digest
        if isWindow { windowQuestions += 1 }
        answer(.init(kind: isWindow ? .integer : .null, count: 0, value: isWindow ? window : 0), completion)
    }

    private func answer(_ node: ReplyArena.Node, _ completion: @escaping RedisConnection.Completion) {
        questions += 1
        if isClosed {
            if questions < Self.patience { completion(.failure(.closed)) }
        } else if isMute {
            unanswered.append(completion)
        } else if isAway {
            _ = eventLoop.scheduleTask(in: Self.timeout) { completion(.failure(.timeout(after: Self.timeout))) }
        } else {
            eventLoop.execute { Self.reply(node, completion) }
        }
    }

    private static func reply(_ node: ReplyArena.Node, _ completion: RedisConnection.Completion) {
        var arena = ReplyArena(limitBytes: 1 << 10)
        defer { arena.deallocate() }
        guard let root = arena.reserve(nodes: 1) else { return completion(.failure(.closed)) }
        arena.set(root, node)
        withUnsafePointer(to: &arena) {
            completion(.success(RedisReply(arena: $0, index: root, generation: $0.pointee.generation)))
        }
    }

    func close() {
        isClosed = true
        let unanswered = unanswered
        self.unanswered = []
        for completion in unanswered { completion(.failure(.closed)) }
    }
}

/// No way to any gateway.
final class ShutDoor: GatewayDoor {
    func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)? { nil }
}

/// Attempts that are never answered.
final class SilentDoor: GatewayDoor, GatewayConnecting {
    let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)? { self }

    func connect(_ lane: GatewayLane, attempt: Int) {}

    func placeName(of attempt: Int) -> String { "nowhere" }

    func noteFailure() {}
}

extension WorkerShard {
    /// A shard of nothing but what is given. Its owner starts it and lets it leave.
    static func scripted(
        _ group: ScriptedGroup,
        configuration: BelfryConfiguration = BelfryConfiguration(),
        producer: SilentProducer = SilentProducer(),
        redis: (any RedisPipeline)? = nil,
        filters: TombstoneFilters? = nil,
        gateways: any GatewayDoor = ShutDoor(),
        reader: ScriptedReader = ScriptedReader(),
        on eventLoop: EmbeddedEventLoop
    ) -> WorkerShard {
        WorkerShard(
            settings: ShardSettings(
                configuration,
                environments: Dictionary(
                    uniqueKeysWithValues: configuration.environments.map {
                        ($0.name, .init(settings: $0, contexts: [:]))
                    }
                ),
                unixMilliseconds: { 0 },
                randomBits: { 35 }
            ),
            eventLoop: eventLoop,
            consumer: group,
            producer: producer,
            redis: redis,
            filters: filters,
            gateways: gateways,
            makeReader: { reader },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }

    /// Makes a topic's sender in the one environment that is configured, as its first request does.
    @discardableResult
    func addSender(_ bundleID: String) throws -> TopicSender {
        try Array(bundleID.utf8).withUnsafeBytes { key in
            let nameless = UnsafeRawBufferPointer(start: nil, count: 0)
            return try senders.find(key: key, environment: nameless) { index, environment, bundleID in
                makeSender(index: index, environment: environment, bundleID: bundleID)
            }.sender
        }
    }
}
