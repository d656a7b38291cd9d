import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient
import TokenState

/// Keeps an eye on the servers' replication IDs, and tells a ``RecordApplier`` which records to apply again when one
/// has changed. Runs on the event loop of both.
final class RecordReplay {
    private let redis: any ReplicationSource
    private let logger: Logger
    private let topic: String
    private let now: () -> MonotonicTime
    private var plan: ReplayPlan
    private var isAsking = false
    /// The log is asked for its beginning, to apply records again.
    private var isGoingBack = false
    private var isClosed = false
    /// The log has the servers that the first look waits for.
    private var hasToldWait = false

    private var onChange: () -> Void = {}
    private var looking: RepeatingTimer?

    /// A server may restart between two looks at it, and be connected again.
    private static let interval = TimeAmount.seconds(5)
    /// Of questions to the broker.
    private static let timeoutMilliseconds: Int32 = 5_000

    init(
        redis: any ReplicationSource,
        window: Duration,
        topic: String,
        logger: Logger,
        now: @escaping () -> MonotonicTime = { MonotonicTime(.now()) }
    ) {
        self.redis = redis
        self.topic = topic
        self.logger = logger
        self.now = now
        plan = ReplayPlan(window: window)
    }

    // MARK: Servers

    /// Begins to look at the masters: when they have changed, and every few seconds.
    ///
    /// - Parameter onChange: called when there is something to do: the partitions may begin, or records are to be
    ///   applied again.
    func start(onChange: @escaping () -> Void) {
        self.onChange = onChange
        redis.onMasters = { [weak self] in self?.look() }
        looking = redis.eventLoop.repeating(after: Self.interval, every: Self.interval) { [weak self] in self?.look() }
        look()
    }

    private func look() {
        guard !isAsking, !isClosed, !redis.masterAddresses.isEmpty else { return }
        isAsking = true
        redis.info("replication") { [weak self] answers in
            guard let self else { return }
            isAsking = false
            if !isClosed { takeAnswers(answers) }
        }
    }

    private func takeAnswers(_ answers: [(RedisAddress, Result<RedisInfo, RedisError>)]) {
        var identifiers: [String] = []
        var missing: [(server: RedisAddress, reason: String)] = []
        for (server, answer) in answers {
            switch answer {
            case .success(let info):
                // One that has just been made a replica is about to be left out of the map.
                if info["role"] == "master", let identifier = info["master_replid"] {
                    identifiers.append(identifier)
                } else {
                    missing.append((server, "it is no master"))
                }
            case .failure(.server(let prefix, let message)):
                if !plan.isReady {
                    logger.warning(
                        "Redis does not tell its replication ID: after a fail-over nothing is applied again",
                        metadata: ["redis": "\(server)", "reason": "\(prefix) \(message)"]
                    )
                }
                plan.cannotTell()
            case .failure(let error):
                missing.append((server, "\(error)"))
            }
        }
        let wasReady = plan.isReady
        let isNews = plan.observed(identifiers, isComplete: identifiers.count == answers.count, now: now())
        if !wasReady { tellMissing(missing) }
        if isNews {
            logger.warning(
                "Redis may have lost writes; what was applied lately is applied again",
                metadata: ["source": "\(topic)", "window": "\(plan.window)"]
            )
        }
        if plan.isDue || plan.isReady != wasReady { onChange() }
    }

    /// Says which servers the first look misses: once that it waits for them, and that it has gone on without them.
    private func tellMissing(_ missing: [(server: RedisAddress, reason: String)]) {
        guard let first = missing.first, !hasToldWait || plan.isReady else { return }
        hasToldWait = true
        logger.warning(
            plan.isReady ? "partitions begin without a Redis server" : "partitions wait for a Redis server",
            metadata: [
                "source": "\(topic)", "redis": "\(missing.map { "\($0.server)" }.joined(separator: ","))",
                "reason": "\(first.reason)",
            ]
        )
    }

    func close() {
        isClosed = true
        onChange = {}
        redis.onMasters = nil
        looking?.cancel()
    }

    // MARK: Partitions

    /// Partitions may begin.
    var isReady: Bool { plan.isReady }

    /// Finds the offsets at which assigned partitions begin, by the committed ones.
    ///
    /// - Parameter completion: called once, with as many offsets in the same order; at once if none goes back.
    func findStarts(
        _ committed: [KafkaPartitionOffset],
        in consumer: any GroupConsumer,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        let starts = committed.map { start($0) }
        let back = zip(starts, committed).filter { $0.offset < $1.offset }.map(\.0.place)
        guard !back.isEmpty else { return completion(.success(starts)) }
        lows(of: back, in: consumer) { result in
            completion(
                result.map { lows in
                    starts.map { start in
                        var start = start
                        if let low = lows[start.partition] { start.offset = max(start.offset, low) }
                        return start
                    }
                }
            )
        }
    }

    private func start(_ committed: KafkaPartitionOffset) -> KafkaPartitionOffset {
        guard committed.offset >= 0 else {
            _ = plan.begin(committed.partition, committed: 0, metadata: "", now: now())
            return committed.startPosition
        }
        var position = committed
        position.offset = plan.begin(
            committed.partition,
            committed: committed.offset,
            metadata: committed.metadata,
            now: now()
        )
        if position.offset < committed.offset {
            logger.warning(
                "Redis may have lost writes; what was applied lately is applied again",
                metadata: [
                    "source": "\(topic)", "partition": "\(committed.partition)",
                    "from": "\(position.offset)", "committed": "\(committed.offset)",
                ]
            )
        }
        return position
    }

    /// A batch is about to be applied.
    ///
    /// - Parameter starts: its first offsets, by partition.
    func applying(_ starts: [Int32: Int64]) {
        for (partition, offset) in starts { plan.applying(partition, from: offset, now: now()) }
    }

    func metadata(_ partition: Int32, offset: Int64) -> String {
        plan.metadata(partition, offset: offset)
    }

    func end(_ partitions: [Int32]) {
        for partition in partitions { plan.end(partition) }
    }

    // MARK: Again

    /// Records have to be applied again: nothing else is until ``beginAgain(in:moved:)`` has gone back.
    var isDue: Bool { plan.isDue }

    /// Goes back in all partitions, if that is due. To be called while no batch is in hand, and again while it is due.
    ///
    /// - Parameter moved: called when it has gone back, with the offsets by partition.
    func beginAgain(in consumer: any GroupConsumer, moved: @escaping ([Int32: Int64]) -> Void) {
        guard plan.isDue, !isGoingBack else { return }
        let places = plan.starts.keys.sorted().map { KafkaTopicPartition(topic: topic, partition: $0) }
        guard !places.isEmpty else { return plan.beganAgain() }
        isGoingBack = true
        lows(of: places, in: consumer) { [weak self] result in
            guard let self else { return }
            isGoingBack = false
            guard !isClosed else { return }
            do throws(KafkaError) {
                guard let offsets = try goBack(result.get(), in: consumer) else { return }
                moved(offsets)
            } catch {
                logger.warning("records could not be applied again; trying again", metadata: ["error": "\(error)"])
            }
        }
    }

    /// - Returns: nil: a partition has been assigned since the question.
    private func goBack(
        _ lows: [Int32: Int64],
        in consumer: any GroupConsumer
    ) throws(KafkaError) -> [Int32: Int64]? {
        var offsets: [Int32: Int64] = [:]
        for (partition, offset) in plan.starts {
            guard let low = lows[partition] else { return nil }
            offsets[partition] = max(low, offset)
        }
        let positions = offsets.sorted { $0.key < $1.key }.map {
            KafkaPartitionOffset(topic: topic, partition: $0.key, offset: $0.value)
        }
        try consumer.seekWithoutWaiting(to: positions)
        plan.beganAgain()
        return offsets
    }

    /// Asks for the lowest offsets that the broker still has. Records it has deleted cannot be applied again.
    private func lows(
        of places: [KafkaTopicPartition],
        in consumer: any GroupConsumer,
        completion: @escaping (Result<[Int32: Int64], KafkaError>) -> Void
    ) {
        consumer.watermarks(of: places, timeoutMilliseconds: Self.timeoutMilliseconds) { result in
            completion(
                result.map { extents in
                    Dictionary(uniqueKeysWithValues: zip(places.map(\.partition), extents.map(\.low)))
                }
            )
        }
    }
}
