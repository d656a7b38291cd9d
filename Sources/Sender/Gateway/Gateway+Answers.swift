import APNsProtocol
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

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
        if settings.dedupeWindow > .zero {
            memory.settle(.confirmed, of: lane.topic) { accept in
                for slot in slots {
                    accept(lane.queue.reference(at: slot), lane.queue.token(at: slot), lane.queue.checksum(at: slot))
                }
            }
        } else {
            for slot in slots { outcomes.settle(lane.queue.reference(at: slot), .confirmed) }
        }
        let (shard, now) = (shard, now)
        // Every request is judged by itself: one that was sent after a refusal tells as much as a newer connection.
        lane.topic.health.change { $0.accepted(slots.count, connectionOpenedAt: sentAt, shard: shard, now: now) }
    }

    private func settle(
        _ verdict: StreamVerdict,
        _ answer: ProviderAnswer?,
        _ standing: TopicHealth.RefusalStanding,
        of lane: StreamLane
    ) {
        switch verdict.result {
        case .confirmed, .presumed, .unknown: settle(verdict, of: lane)
        case .resent: lanes(of: lane.topic).counters.resent += 1
        case .retried, .forgotten:
            // A service that lets one token wait works.
            if case .retryTokenLater? = answer?.verdict { noteRefusedContent(lane.topic) }
        case .rejected, .tokenDead, .tokenRefused, .deadLetter, .poison: refuse(verdict, answer, standing, of: lane)
        }
    }

    private func settle(_ verdict: StreamVerdict, of lane: StreamLane) {
        let reference = lane.queue.reference(at: verdict.slot)
        let outcome: OutcomeKind =
            switch verdict.result {
            case .confirmed: .confirmed
            case .presumed: .presumed
            default: .unknown
            }
        guard settings.dedupeWindow > .zero, outcome != .unknown else { return outcomes.settle(reference, outcome) }
        memory.settle(outcome, of: lane.topic) { accept in
            accept(reference, lane.queue.token(at: verdict.slot), lane.queue.checksum(at: verdict.slot))
        }
    }

    /// Ends a notification that was refused for good.
    private func refuse(
        _ verdict: StreamVerdict,
        _ answer: ProviderAnswer?,
        _ standing: TopicHealth.RefusalStanding,
        of lane: StreamLane
    ) {
        let reference = lane.queue.reference(at: verdict.slot)
        let status = UInt16(clamping: answer?.status ?? 0)
        let reason = answer?.reason?.rawValue ?? "gateway-status-\(status)"
        let health = lane.topic.health
        let (shard, now, random) = (shard, now, settings.randomBits())
        switch verdict.result {
        case .tokenRefused:
            let ticket = health.change { $0.tokenRefused(shard: shard, standing, now: now, random: random) }
            outcomes.settle(reference, .rejected, status: status, reason: reason)
            guard ticket > 0 else { return }
            let refused = refusal(of: lane, verdict.slot, ticket: ticket, deadSince: nil)
            silence(refused)
            tombstones.add(refused)
        case .tokenDead:
            noteRefusedContent(lane.topic)
            outcomes.settle(reference, .rejected, status: status, reason: reason)
            // Notifications that wait are silenced once Redis has answered that the token has not registered since.
            tombstones.add(refusal(of: lane, verdict.slot, ticket: 0, deadSince: answer?.deadSinceSeconds))
        case .deadLetter:
            noteRefusedContent(lane.topic)
            let words = answer?.reason?.rawValue ?? "without a reason"
            let refusal = RecordRefusal(
                reason: "gateway-status-\(status)",
                detail: "the gateway answered \(status) \(words)"
            )
            outcomes.deadLetter(reference, status: status, refusal, now: now)
        case .poison:
            noteRefusedContent(lane.topic)
            let times = lane.queue.limits.loneCloses
            let refusal = RecordRefusal(
                reason: "request-unanswered",
                detail: "sent \(times) times, and each time its stream or connection ended, or its time ran out"
            )
            outcomes.deadLetter(reference, status: 0, refusal, now: now)
        default:
            noteRefusedContent(lane.topic)
            outcomes.settle(reference, .rejected, status: status, reason: reason)
        }
    }

    /// The service has judged a notification by its content: it works.
    private func noteRefusedContent(_ topic: Topic) {
        let (shard, now) = (shard, now)
        topic.health.change { $0.contentRefused(shard: shard, now: now) }
    }

    /// The refusal of a notification's token.
    ///
    /// - Parameters:
    ///   - ticket: of the refusal, which waits to be believed.
    ///   - deadSince: the time that the service names, UNIX seconds: it needs no belief; nil: it named none.
    private func refusal(
        of lane: StreamLane,
        _ slot: Int,
        ticket: UInt64,
        deadSince: UInt32?
    ) -> TombstoneWriter.Refused {
        TombstoneWriter.Refused(
            topic: lane.topic,
            token: Array(lane.queue.token(at: slot)),
            checksum: lane.queue.checksum(at: slot),
            ticket: ticket,
            refusedAt: deadSince ?? UInt32(clamping: settings.unixMilliseconds() / 1000),
            loopTime: now,
            isProven: deadSince != nil
        )
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
        ["topic": .string(lane.topic.bundleID), "environment": .string(lane.topic.environment)]
    }
}
