import KafkaClient
import Logging
import PipelineCore
import PushTopics
import RedisClient

/// Finds the starts of partitions: the group's commit, or for one without a commit a decision by signs that it was read
/// before. Leaves such a sign: a mark in Redis, written when a partition's first commit in an assignment is stored. It
/// outlives the commits.
///
/// The key is `m:{<Kafka topic>:<partition>}:position`; the value names the group and the offset, for people. Bound to
/// the shard's event loop.
final class EarlierLife {
    /// The start of a partition.
    enum Start: PartitionStart {
        /// The group's commit.
        case committed(KafkaPartitionOffset)
        /// Without a commit of the group.
        case first(KafkaTopicPartition, FirstStart.Decision)

        var place: KafkaTopicPartition {
            switch self {
            case .committed(let position): position.place
            case .first(let place, _): place
            }
        }
    }

    /// The numbers of partitions of the Kafka topics that are asked about; 0: they are not asked about.
    struct PartitionCounts {
        /// Of the lane's.
        var requests: Int32 = 0
        var outcomes: Int32 = 0
    }

    private let consumer: any GroupConsumer
    /// Nil without token state: no marks are kept.
    private let redis: (any RedisPipeline)?
    private let settings: ShardSettings
    private let counts: PartitionCounts
    private let logger: Logger

    init(
        consumer: any GroupConsumer,
        redis: (any RedisPipeline)?,
        settings: ShardSettings,
        counts: PartitionCounts,
        logger: Logger
    ) {
        self.consumer = consumer
        self.redis = redis
        self.settings = settings
        self.counts = counts
        self.logger = logger
    }

    private typealias Decisions = [KafkaTopicPartition: FirstStart.Decision]

    /// Finds the starts of partitions. Calls back once.
    func findStarts(
        of places: [KafkaTopicPartition],
        _ completion: @escaping (Result<[Start], KafkaError>) -> Void
    ) {
        consumer.committed(places, timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds) { [self] result in
            guard case .success(let positions) = result, positions.contains(where: { $0.offset < 0 }) else {
                return completion(result.map { $0.map(Start.committed) })
            }
            decide(positions.filter { $0.offset < 0 }.map(\.place)) { result in
                completion(
                    result.map { decisions in
                        positions.map { position in
                            decisions[position.place].map { .first(position.place, $0) } ?? .committed(position)
                        }
                    }
                )
            }
        }
    }

    /// Decides for partitions of which the group has no commit. Calls back once.
    private func decide(
        _ places: [KafkaTopicPartition],
        _ completion: @escaping (Result<Decisions, KafkaError>) -> Void
    ) {
        let outcomes = (0..<counts.outcomes).map { KafkaTopicPartition(topic: settings.names.outcomes, partition: $0) }
        // The outcomes count only where Redis does not tell of the mark: see ``FirstStart``.
        consumer.watermarks(
            of: places + outcomes,
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let all):
                let logs = Dictionary(uniqueKeysWithValues: zip(places, all))
                askGroup(logs, hasOutcomes: all.dropFirst(places.count).contains { $0.high > 0 }, completion)
            }
        }
    }

    private func askGroup(
        _ logs: [KafkaTopicPartition: KafkaWatermarks],
        hasOutcomes: Bool,
        _ completion: @escaping (Result<Decisions, KafkaError>) -> Void
    ) {
        let all = (0..<counts.requests).map { KafkaTopicPartition(topic: settings.names.requests, partition: $0) }
        consumer.committed(
            all,
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let positions):
                let groupHasCommits = positions.contains { $0.offset >= 0 }
                readMarks(logs.keys.sorted()) { [settings] marks in
                    let decisions = logs.map { place, log in
                        let decision = FirstStart.decide(
                            lane: settings.lane,
                            low: log.low,
                            high: log.high,
                            mark: marks[place] ?? .unknown,
                            groupHasCommits: groupHasCommits,
                            hasOutcomes: hasOutcomes,
                            sendsWithoutRedis: settings.redisPatience != nil,
                            policy: settings.firstStart
                        )
                        return (place, decision)
                    }
                    completion(.success(Dictionary(uniqueKeysWithValues: decisions)))
                }
            }
        }
    }

    // MARK: Marks

    private func readMarks(
        _ places: [KafkaTopicPartition],
        _ completion: @escaping ([KafkaTopicPartition: FirstStart.Mark]) -> Void
    ) {
        guard let redis, !places.isEmpty else {
            return completion(Dictionary(uniqueKeysWithValues: places.map { ($0, .missing) }))
        }
        // A client without a connection would keep the questions until it has one.
        guard redis.isReady else {
            return completion(Dictionary(uniqueKeysWithValues: places.map { ($0, .unknown) }))
        }
        var marks: [KafkaTopicPartition: FirstStart.Mark] = [:]
        for place in places {
            let key = place.markKey
            redis.send(slot: RedisSlot(key: key)) { writer in
                writer.command("GET", argumentCount: 1)
                writer.argument(key)
            } _: { [logger] result in
                switch result {
                case .failure: marks[place] = .unknown
                case .success(let reply):
                    marks[place] = reply.isNull ? .missing : .present
                    guard let last = reply.string else { break }
                    logger.notice(
                        "partition was read before",
                        metadata: ["partition": "\(place.partition)", "mark": "\(last)"]
                    )
                }
                if marks.count == places.count { completion(marks) }
            }
        }
    }

    /// A commit of a partition was stored: marks the partition, once in each assignment.
    func stored(_ partition: PartitionAssignment, offset: Int64) {
        guard let redis, redis.isReady, !partition.isMarked else { return }
        partition.isMarked = true
        let key = partition.place.markKey
        redis.send(slot: RedisSlot(key: key)) { writer in
            writer.command("SET", argumentCount: 2)
            writer.argument(key)
            writer.argument(Array("\(settings.group) \(offset)".utf8))
        } _: { result in
            // Written again with the next commit.
            if case .failure = result { partition.isMarked = false }
        }
    }
}

extension KafkaTopicPartition {
    fileprivate var markKey: [UInt8] { Array("m:{\(topic):\(partition)}:position".utf8) }
}
