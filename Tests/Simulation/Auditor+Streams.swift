import PipelineCore

/// Invariant 4 over HTTP/2: a worker has one request of a token in flight.
extension Auditor {
    /// The notification's topic goes over HTTP/2.
    func isOverStreams(_ number: Int) -> Bool {
        options.isOverStreams(world.plan.records[notifications[number].record].topic)
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
}
