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
    private let redis: RedisCluster
    private let logger: Logger
    private let topic: String
    private let now: () -> MonotonicTime
    private var plan: ReplayPlan
    private var isAsking = false
    private var isClosed = false

    private var onChange: () -> Void = {}
    private var looking: RepeatingTimer?

    /// A server may restart between two looks at it, and be connected again.
    private static let interval = TimeAmount.seconds(5)

    init(
        redis: RedisCluster,
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
            if !isClosed { take(answers) }
        }
    }

    private func take(_ answers: [(RedisAddress, Result<RedisInfo, RedisError>)]) {
        var identifiers: [String] = []
        for (server, answer) in answers {
            switch answer {
            case .success(let info):
                // One that has just been made a replica is about to be left out of the map.
                guard info["role"] == "master", let identifier = info["master_replid"] else { continue }
                identifiers.append(identifier)
            case .failure(.server(let prefix, let message)):
                if !plan.isReady {
                    logger.warning(
                        "Redis does not tell its replication ID: after a fail-over nothing is applied again",
                        metadata: ["redis": "\(server)", "reason": "\(prefix) \(message)"]
                    )
                }
                plan.cannotTell()
            case .failure:
                continue
            }
        }
        let wasReady = plan.isReady
        if plan.observed(identifiers, isComplete: identifiers.count == answers.count) {
            logger.warning(
                "Redis may have lost writes; what was applied lately is applied again",
                metadata: ["source": "\(topic)", "window": "\(plan.window)"]
            )
        }
        if plan.isDue || plan.isReady != wasReady { onChange() }
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

    /// Offsets at which assigned partitions begin, by the committed ones.
    func starts(
        _ committed: [KafkaPartitionOffset],
        in consumer: KafkaConsumer
    ) throws(KafkaError) -> [KafkaPartitionOffset] {
        var starts: [KafkaPartitionOffset] = []
        for position in committed {
            var start = start(position)
            if position.offset >= 0, start.offset < position.offset {
                start.offset = max(start.offset, try low(of: start.place, in: consumer))
            }
            starts.append(start)
        }
        return starts
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
    func applying(_ records: KafkaBatch) {
        var starts: [Int32: Int64] = [:]
        for index in 0..<records.count where records[index].error == nil {
            let message = records[index]
            starts[message.partition] = min(starts[message.partition] ?? message.offset, message.offset)
        }
        for (partition, offset) in starts { plan.applying(partition, from: offset, now: now()) }
    }

    func metadata(_ partition: Int32, offset: Int64) -> String {
        plan.metadata(partition, offset: offset)
    }

    func end(_ partitions: [KafkaTopicPartition]) {
        for place in partitions { plan.end(place.partition) }
    }

    // MARK: Again

    /// Goes back in all partitions, if that is due; to be called while no batch is in hand.
    func beginAgain(in consumer: KafkaConsumer) {
        guard plan.isDue else { return }
        do throws(KafkaError) {
            var positions: [KafkaPartitionOffset] = []
            for (partition, offset) in plan.starts.sorted(by: { $0.key < $1.key }) {
                let place = KafkaTopicPartition(topic: topic, partition: partition)
                let low = try low(of: place, in: consumer)
                positions.append(KafkaPartitionOffset(place, offset: max(low, offset)))
            }
            if !positions.isEmpty { try consumer.seek(to: positions, timeoutMilliseconds: 5_000) }
            plan.beganAgain()
        } catch {
            logger.warning("records could not be applied again; trying again", metadata: ["error": "\(error)"])
        }
    }

    /// Lowest offset that the broker still has. Records it has deleted cannot be applied again.
    private func low(of place: KafkaTopicPartition, in consumer: KafkaConsumer) throws(KafkaError) -> Int64 {
        try consumer.watermarks(of: place, timeoutMilliseconds: 2_000).low
    }
}
