import APNsProtocol
import Logging
import PipelineCore
import PushSchemas
import PushTopics

/// Turns the answers of the provider API into outcomes, tombstones and the topic's health.
extension Gateway: StreamStage {
    func handle(_ event: StreamEvent, of lane: StreamLane) {
        switch event {
        case .answered(let answer, let reference): note(answer, to: reference, of: lane)
        case .confirmed(let slots, let sentAt): confirm(slots, of: lane, sentAt: sentAt)
        case .settled(let verdict, let answer, let standing): settle(verdict, answer, standing, of: lane)
        }
    }

    private func confirm(_ slots: [Int], of lane: StreamLane, sentAt: MonotonicTime) {
        noteSettled(slots, of: lane)
        lanes(of: lane.topic).counters.accepted += slots.count
        settle(slots, of: lane, .confirmed)
        let (shard, now, suffixes) = (shard, now, lane.topicSuffixes(of: slots))
        lane.topic.health.change { health in
            health.topicsAccepted(suffixes)
            // Every request is judged by itself: one that was sent after a refusal tells as much as a newer connection.
            health.accepted(slots.count, connectionOpenedAt: sentAt, shard: shard, now: now)
        }
    }

    private func settle(
        _ verdict: StreamVerdict,
        _ answer: ProviderAnswer?,
        _ standing: AppHealth.RefusalStanding,
        of lane: StreamLane
    ) {
        let slot = CollectionOfOne(verdict.slot)
        switch verdict.result {
        case .confirmed: settle(slot, of: lane, .confirmed)
        case .presumed: settle(slot, of: lane, .presumed)
        case .unknown: settle(slot, of: lane, .unknown)
        case .resent: lanes(of: lane.topic).counters.resent += 1
        case .retried, .forgotten:
            guard verdict.finding == .none else { break }
            // A service that lets one token wait works, and so does one that may refuse a single topic.
            switch answer?.verdict {
            case .retryTokenLater, .topicRefused: noteRefusedContent(lane.topic)
            default: break
            }
        case .rejected: refuse(verdict, answer, .other, of: lane)
        case .tokenDead: refuse(verdict, answer, .deadToken(since: answer?.deadSinceSeconds), of: lane)
        case .tokenRefused:
            refuse(verdict, answer, .token(standing, lane.topicKind(at: verdict.slot)), of: lane)
        case .deadLetter:
            let status = UInt16(clamping: answer?.status ?? 0)
            let refusal = RecordRefusal(
                reason: "gateway-status-\(status)",
                detail: "the gateway answered \(status) \(answer?.reason?.rawValue ?? "without a reason")"
            )
            refuse(verdict, answer, .defect(refusal), of: lane)
        case .poison:
            let times = lane.queue.limits.loneCloses
            let refusal = RecordRefusal(
                reason: "request-unanswered",
                detail: "sent \(times) times, and each time its stream or connection ended, or its time ran out"
            )
            refuse(verdict, nil, .defect(refusal), of: lane)
        }
    }

    private func settle(_ slots: some Sequence<Int>, of lane: StreamLane, _ outcome: OutcomeKind) {
        guard remembers(outcome) else {
            for slot in slots { outcomes.settle(lane.queue.reference(at: slot), outcome) }
            return
        }
        memory.settle(outcome, of: lane.topic) { accept in
            for slot in slots {
                accept(lane.queue.reference(at: slot), lane.queue.token(at: slot), lane.queue.checksum(at: slot))
            }
        }
    }

    private func refuse(
        _ verdict: StreamVerdict,
        _ answer: ProviderAnswer?,
        _ cause: RefusedNotification.Cause,
        of lane: StreamLane
    ) {
        let status = UInt16(clamping: answer?.status ?? 0)
        let refused = RefusedNotification(
            cause: cause,
            reference: lane.queue.reference(at: verdict.slot),
            token: lane.queue.token(at: verdict.slot),
            checksum: lane.queue.checksum(at: verdict.slot),
            status: status,
            reason: answer?.reason?.rawValue ?? "gateway-status-\(status)"
        )
        // Drawn whatever the cause: the stories of seeds go by the order of draws.
        let random = settings.randomBits()
        refuse(refused, of: lane.topic, random: random)
    }

    private func note(_ answer: ProviderAnswer, to reference: NotificationReference, of lane: StreamLane) {
        let lanes = lanes(of: lane.topic)
        lanes.counters.errorResponses[UInt16(clamping: answer.status), default: 0] += 1
        // Only reasons that are known may become labels: a peer names them.
        let reason = answer.reason.flatMap { $0.entry == nil ? nil : $0.rawValue } ?? "other"
        lanes.counters.reasons[reason, default: 0] += 1
        guard logger.logLevel <= .debug else { return }
        var metadata = metadata(lane).merging(outcomes.coordinates(of: reference)) { known, _ in known }
        metadata["status"] = .stringConvertible(answer.status)
        metadata["reason"] = .string(answer.reason?.rawValue ?? answer.bodyFault.map { "\($0)" } ?? "")
        logger.debug("answer of the gateway", metadata: metadata)
    }

    private func metadata(_ lane: StreamLane) -> Logger.Metadata {
        ["app": .string(lane.topic.bundleID), "environment": .string(lane.topic.environment)]
    }
}
