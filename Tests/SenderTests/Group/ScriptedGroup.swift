import BelfrySupport
import Logging
import NIOCore
import NIOEmbedded
import PipelineCore
import PortTestSupport
import PushTopics
import TokenState

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender

/// A member of a group that remembers what a shard answers. Questions are answered when the event loop runs.
final class ScriptedGroup: GroupConsumer {
    /// Of every partition; nil: the broker does not answer.
    var committedOffset: Int64?
    /// The metadata of every committed offset: no topic lags.
    var metadata = "3;"
    /// Positions that the broker has instead.
    var committedPositions: [KafkaTopicPartition: KafkaPartitionOffset] = [:]
    /// Offsets at which every partition begins, and ends; nil: where the group has committed.
    var start: Int64 = 0
    var end: Int64?
    /// Offset at which every partition of outcomes ends.
    var outcomesEnd: Int64 = 0
    /// Offset at which every partition is known to end without asking; nil: none.
    var cachedEnd: Int64?
    /// Batches to be consumed.
    var batches: [KafkaBatch] = []
    /// Commits are answered, with ``commitError`` if there is one.
    var answersCommits = true
    var commitError: KafkaError?
    /// Assignments cannot be carried out.
    var assignError: KafkaError?
    /// Set by the shard's maker.
    var eventLoop: EmbeddedEventLoop?
    private(set) var answers: [[KafkaPartitionOffset]] = []
    private(set) var revocations = 0
    private(set) var commits: [[KafkaPartitionOffset]] = []
    private(set) var seeks: [KafkaPartitionOffset] = []
    private(set) var paused: Set<KafkaTopicPartition> = []
    private var unanswered: [(KafkaError?) -> Void] = []

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        batches.isEmpty ? nil : batches.removeFirst()
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        commits.append(offsets)
        guard let completion else { return }
        unanswered.append(completion)
        if answersCommits { answerCommits() }
    }

    /// Answers the commits that were not.
    func answerCommits() {
        answerCommits(unanswered)
        unanswered = []
    }

    /// Answers the latest commit before the others.
    func answerLastCommit() { answerCommits(unanswered.popLast().map { [$0] } ?? []) }

    private func answerCommits(_ completions: [(KafkaError?) -> Void]) {
        eventLoop?.execute { [commitError] in
            for completion in completions { completion(commitError) }
        }
    }

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        eventLoop?.execute { [self] in
            guard let committedOffset else { return completion(.failure(KafkaError.closed("positions"))) }
            completion(
                .success(
                    partitions.map {
                        committedPositions[$0] ?? KafkaPartitionOffset($0, offset: committedOffset, metadata: metadata)
                    }
                )
            )
        }
    }

    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError) {
        if let assignError { throw assignError }
        answers.append(positions)
    }

    func completeRevoke() throws(KafkaError) {
        revocations += 1
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) { paused.formUnion(partitions) }

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) { paused.subtract(partitions) }

    func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError) { seeks += positions }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        eventLoop?.execute { [self] in
            let all = places.map { place in
                guard place.topic != "push.outcomes" else { return KafkaWatermarks(low: 0, high: outcomesEnd) }
                let committed = committedPositions[place]?.offset ?? committedOffset ?? 0
                return KafkaWatermarks(low: start, high: end ?? max(start, committed))
            }
            completion(.success(all))
        }
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? {
        cachedEnd.map { KafkaWatermarks(low: start, high: $0) }
    }

    func close(timeoutMilliseconds: Int32) -> Bool { true }
}

/// Takes everything and remembers it; reports on it when polled, unless it is silent.
final class ScriptedProducer: MessageProducer {
    struct Message {
        var topic: String
        var value: [UInt8]
        var headers: [(String, [UInt8])]

        func header(_ name: String) -> String? { headers.text(name) }
    }

    var isSilent = false
    /// Kafka topics whose messages the broker does not take.
    var refused: Set<String> = []
    /// Most messages without a report; nil: any number.
    var room: Int?
    /// The broker's objection to a message; it is thrown, not reported.
    var objection: (Message) -> KafkaError? = { _ in nil }
    /// Messages that it was given, taken or not.
    private(set) var attempts = 0
    var onDelivery: (UInt64) -> Void = { _ in }
    /// In the order they came.
    private(set) var messages: [Message] = []
    private var unreported: [UInt64] = []

    func messages(of topic: String) -> [Message] { messages.filter { $0.topic == topic } }

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try take(Message(topic: name, value: Array(value), headers: headers), opaque)
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        try take(Message(topic: name, value: value ?? [], headers: headers), opaque)
    }

    private func take(_ message: Message, _ opaque: UInt64) throws(KafkaError) {
        attempts += 1
        if let room, unreported.count >= room { throw .ofProducer("_QUEUE_FULL", -184) }
        if let objection = objection(message) { throw objection }
        messages.append(message)
        if !refused.contains(message.topic) { unreported.append(opaque) }
    }

    func poll(timeoutMilliseconds: Int32) {
        guard !isSilent else { return }
        let numbers = unreported
        unreported = []
        for number in numbers { onDelivery(number) }
    }

    func close(flushMilliseconds: Int32) {}
}

extension KafkaError {
    /// An error as a producer throws or reports it.
    static func ofProducer(_ name: String, _ code: Int32) -> KafkaError {
        KafkaError(code: code, name: name, message: name, isRetriable: false, isFatal: false)
    }
}

/// Reads a log in memory for topics that are behind.
final class ScriptedReader: PartitionReader {
    /// In the order of their offsets.
    var log: [KafkaRecord] = []
    /// Offsets at which it was told to begin, each time.
    private(set) var begins: [Int64] = []
    private(set) var stops = 0
    private(set) var isClosed = false
    /// The next reading meets no record, because the log begins later.
    var isOutOfRange = false
    private var positions: [KafkaTopicPartition: Int64] = [:]

    func begin(_ place: KafkaTopicPartition, at offset: Int64) throws(KafkaError) {
        begins.append(offset)
        positions[place] = offset
    }

    func stop(_ place: KafkaTopicPartition) {
        stops += 1
        positions[place] = nil
    }

    func read(_ place: KafkaTopicPartition, max: Int) -> KafkaBatch? {
        guard let position = positions[place] else { return nil }
        if isOutOfRange {
            isOutOfRange = false
            return .outOfRange(place, at: position)
        }
        let records = log.filter { $0.partition == place.partition && $0.offset >= position }.prefix(max)
        guard let last = records.last else { return nil }
        positions[place] = last.offset + 1
        return KafkaBatch(Array(records))
    }

    func close() { isClosed = true }
}

extension KafkaBatch {
    /// The error in place of messages that the log no longer has.
    static func outOfRange(_ place: KafkaTopicPartition, at offset: Int64) -> KafkaBatch {
        let record = KafkaRecord(topic: place.topic, partition: place.partition, offset: offset, key: nil, value: nil)
        let batch = KafkaBatch([record])
        // OFFSET_OUT_OF_RANGE
        batch.messages[0].pointee.err = .init(rawValue: 1)
        return batch
    }
}

extension WorkerShard {
    /// A shard of nothing but what is given. Its owner starts it and lets it leave.
    static func scripted(
        _ group: ScriptedGroup,
        configuration: BelfryConfiguration = BelfryConfiguration(),
        producer: ScriptedProducer = ScriptedProducer(),
        redis: (any RedisPipeline)? = nil,
        layout: TokenLayout? = TokenStore.layout,
        filters: DeadTokenSets? = nil,
        gateways: (any GatewayConnectors)? = nil,
        reader: ScriptedReader = ScriptedReader(),
        placement: KeyPlacement.Source? = nil,
        partitionCounts: EarlierLife.PartitionCounts = EarlierLife.PartitionCounts(requests: 4, outcomes: 1),
        hostClock: (() -> MonotonicTime)? = nil,
        limits: TopicLimits = TopicLimits(),
        unixMilliseconds: @escaping @Sendable () -> Int64 = { 0 },
        salt: TopicSalt = .none,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        on eventLoop: EmbeddedEventLoop
    ) -> WorkerShard {
        group.eventLoop = eventLoop
        var settings = ShardSettings(configuration, unixMilliseconds: unixMilliseconds, randomBits: { 35 })
        settings.newSalt = { salt }
        settings.topicLimits = limits
        let shard = WorkerShard(
            settings,
            number: 0,
            eventLoop: eventLoop,
            clients: Clients(
                consumer: group,
                producer: producer,
                tokens: redis.map { TokenTable($0, layout) },
                connectors: gateways ?? MemoryGateway(eventLoop),
                makeReader: { reader },
                filters: filters,
                placement: placement,
                partitionCounts: partitionCounts,
                hostClock: hostClock
            ),
            logger: logger
        )
        producer.onDelivery = { [unowned shard] in shard.delivered($0, error: nil) }
        return shard
    }

    /// Makes a topic in the one environment that is configured, as its first request does.
    @discardableResult
    func addTopic(_ bundleID: String) throws -> Topic {
        try Array(bundleID.utf8).withUnsafeBytes { key in
            let nameless = UnsafeRawBufferPointer(start: nil, count: 0)
            let found = try stages.group.directory.find(key: key, environment: nameless, salt: .none)
            guard let topic = found.account.topic else { preconditionFailure("the bundle is followed by itself") }
            return topic
        }
    }
}
