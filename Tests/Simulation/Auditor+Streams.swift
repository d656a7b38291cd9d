import PipelineCore

/// Invariants 4 and 10 over HTTP/2: a worker has one request of a token in flight, and loses few notifications to a
/// service that refuses their topic.
extension Auditor {
    /// The notification's topic goes over HTTP/2.
    func isOverStreams(_ number: Int) -> Bool {
        options.isOverStreams(world.records[notifications[number].record].topic)
    }

    /// A worker opens a stream with a request.
    func requested(_ token: Int, by worker: SimulatedWorker) {
        let isFirst = requested[worker.number, default: []].insert(token).inserted
        check(
            isFirst || !holds(.oneRequest),
            4,
            "\(worker.name) has two requests of token \(token) in flight"
        )
    }

    /// A worker knows that a request is over: it was answered, or given up.
    func requestEnded(_ token: Int, by worker: SimulatedWorker) {
        requested[worker.number]?.remove(token)
    }

    /// A worker has given a notification up because its topic is refused: so many may be, until the app stops for all
    /// shards of the process.
    func checkTopicRejection(of number: Int, by worker: Int) {
        let topic = world.records[notifications[number].record].topic
        let process = processes[worker] ?? worker
        topicRejections[[process, topic], default: []].insert(number)
        let count = topicRejections[[process, topic], default: []].count
        check(
            count <= (TopicRefusals.most - 1) * world.gateways[topic].disallowedPhases,
            10,
            "process \(process) rejected \(count) notifications of topic \(topic) because the service refuses it"
        )
    }
}
