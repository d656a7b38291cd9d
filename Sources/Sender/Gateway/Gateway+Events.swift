import APNsProtocol
import PipelineCore

/// Counts the events of the transports, and brings them to the health of their topics.
extension Gateway: TransportStage {
    var mayWrite: Bool { maySend() }

    var hasStoodStill: Bool { stoodStill() }

    func mayConnect(_ topic: Topic, _ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        // The attempt would fail, at the cost of the budget.
        guard topic.flow.hasCertificate else { return now + ShardLimits.retryInterval }
        return settings.connectionBudget.takeConnection(
            topic: topic.budgetNumber,
            lane: settings.lane,
            purpose: purpose,
            now: now
        )
    }

    func handle(_ event: TransportEvent, of topic: Topic) {
        switch event {
        case .connected: lanes(of: topic).counters.connects += 1
        case .disconnected(let reason): lanes(of: topic).counters.count(reason)
        case .failed(let reason): noteEnd(of: topic, reason)
        case .rotated(let reason): lanes(of: topic).counters.count(reason)
        case .refused(let extent): fail(topic, extent == .team ? .teamRefused : .topicRefused, now: now)
        case .serviceTrouble: fail(topic, .serviceTrouble, now: now)
        case .handedOver(let count, let first): noteHandOver(count, from: first, over: topic.transport)
        }
    }

    /// A connection of a topic ended, or could not be made.
    private func noteEnd(of topic: Topic, _ reason: DisconnectReason) {
        let (shard, now, random) = (shard, now, settings.randomBits())
        switch reason {
        case .certificateRefused:
            topic.health.change { $0.failed(.certificateRefused, now: now, random: random) }
        case .proxyRefused:
            topic.health.change { $0.failed(.proxyRefused, now: now, random: random) }
        case .connectFailed, .endOfStream, .failure:
            topic.health.change { $0.connectionFailed(shard: shard, now: now, random: random) }
        case .errorResponse, .shutdown, .closedHere, .goAway:
            break
        }
    }

    /// The topic does not work.
    func fail(_ topic: Topic, _ reason: AppHealth.Reason, now: MonotonicTime) {
        let random = settings.randomBits()
        topic.health.change { $0.failed(reason, now: now, random: random) }
    }
}
