import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Finds the starts of the partitions that the group assigns, and tells them once for each assignment.
///
/// Every assignment is answered, also one of which nothing is left: the group waits for that. Bound to the shard's
/// event loop.
final class PartitionStarts {
    /// The start of a partition.
    enum Start {
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

    /// Called with the starts of all partitions of an assignment, possibly none.
    var onKnown: ([Start]) -> Void = { _ in }

    private let consumer: any GroupConsumer
    private let earlierLife: EarlierLife
    private let logger: Logger
    /// Assigned partitions whose starts are not known yet.
    private var awaiting: [KafkaTopicPartition] = []
    /// An assignment has no answer.
    private var isOpen = false
    /// Number of the latest question, for telling its answer from those to older ones.
    private var questions: UInt64 = 0
    private var isAsking = false
    private var isClosed = false

    init(consumer: any GroupConsumer, earlierLife: EarlierLife, logger: Logger) {
        self.consumer = consumer
        self.earlierLife = earlierLife
        self.logger = logger
    }

    /// The group has assigned partitions, possibly none, beside those of assignments without an answer.
    func assign(_ partitions: [KafkaTopicPartition]) {
        // Leaving the group answers it.
        guard !isClosed else { return }
        // The answer to this assignment also answers earlier ones without an answer.
        awaiting += partitions.filter { !awaiting.contains($0) }
        isOpen = true
        isAsking = false
        // A shard may get no partition. After it gave some back in a cooperative group it always gets such an
        // assignment, and the group waits for the answer to that, too.
        if awaiting.isEmpty { tell([]) } else { ask() }
    }

    /// The group takes partitions back. If their assignment has none left, that needs no answer of the broker.
    func withdraw(_ partitions: [KafkaTopicPartition]) {
        awaiting.removeAll { partitions.contains($0) }
        if isOpen, awaiting.isEmpty { tell([]) }
    }

    /// The worker stops: nothing is told any more.
    func close() {
        isClosed = true
        isOpen = false
    }

    /// Asks for the starts of newly assigned partitions; repeated if the broker does not answer.
    func ask() {
        guard isOpen, !isAsking else { return }
        isAsking = true
        questions += 1
        let question = questions
        find(awaiting) { [weak self] result in
            self?.arrived(question, result)
        }
    }

    private func arrived(_ question: UInt64, _ result: Result<[Start], KafkaError>) {
        guard question == questions, isOpen, isAsking else { return }
        isAsking = false
        switch result {
        case .failure(let error):
            logger.warning("committed positions could not be read; trying again", metadata: ["error": "\(error)"])
        case .success(let all):
            let starts = all.filter { awaiting.contains($0.place) }
            guard starts.count == awaiting.count else { return ask() }
            tell(starts)
        }
    }

    private func tell(_ starts: [Start]) {
        isOpen = false
        isAsking = false
        awaiting = []
        onKnown(starts)
    }

    /// Asks the group for its commits of partitions, and for signs of an earlier life of those that it has none of.
    func find(_ places: [KafkaTopicPartition], _ completion: @escaping (Result<[Start], KafkaError>) -> Void) {
        consumer.committed(
            places,
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [earlierLife] result in
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let positions):
                let missing = positions.filter { $0.offset < 0 }.map(\.place)
                guard !missing.isEmpty else { return completion(.success(positions.map(Start.committed))) }
                earlierLife.decide(missing) { result in
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
    }
}
