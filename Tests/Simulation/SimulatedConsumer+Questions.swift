@testable import KafkaClient
@testable import SimulatedServers

/// Questions to the broker, each with an answer later.
extension SimulatedConsumer {
    /// Asks the broker something; the answer comes later, or says that there was none.
    ///
    /// - Parameter places: partitions whose leaders have to answer.
    private func ask<Answer>(
        of places: [KafkaTopicPartition] = [],
        _ answer: @escaping () -> Answer,
        _ completion: @escaping (Result<Answer, KafkaError>) -> Void
    ) {
        let slow = world.plan.options.blockingCalls
        let delay = world.dice.time(1...15) + (slow > 0 ? world.dice.time(0...Int(slow / .milliseconds(1))) : 0)
        loop.deliver(after: delay) { [weak self] in
            guard let self, !isGone else { return }
            let broker = world.broker
            let hasLeaders = places.allSatisfy { broker.answersQuestions(about: $0) }
            guard !broker.isAway, unreachableUntil <= world.clock.now, hasLeaders else {
                return completion(.failure(.timedOut))
            }
            completion(.success(answer()))
        }
    }

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        ask(
            { [world] in
                partitions.map { place in
                    let known = world.broker.committed(place)
                    let offset = known?.offset ?? KafkaOffset.none
                    return KafkaPartitionOffset(place, offset: offset, metadata: known?.metadata ?? "")
                }
            },
            completion
        )
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        ask(of: places, { [world] in places.map { world.broker.watermarks(of: $0) } }, completion)
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? {
        world.broker.watermarks(of: place)
    }
}
