import APNsProtocol
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Turns the verdicts of lanes into outcomes, tombstones and the topic's health.
extension Gateway: LaneStage {
    func handle(_ event: LaneEvent, of lane: GatewayLane) {
        switch event {
        case .answered(let response): note(response, of: lane)
        case .settled(let verdict): settle(verdict, of: lane)
        case .condemned(let reference, let status):
            var metadata = outcomes.coordinates(of: reference)
            metadata["status"] = .stringConvertible(status.rawValue)
            logger.warning("content is refused to every token", metadata: metadata)
        case .withdrawn(let reference, let status):
            outcomes.deadLetter(reference, status: UInt16(status.rawValue), recordRefusal(status), now: now)
        }
    }

    private func settle(_ verdict: LaneVerdict, of lane: GatewayLane) {
        let lanes = lanes(of: lane.topic)
        let confirmed = lane.machine.log.liveCount(in: verdict.confirmed)
        let accepted = confirmed + lane.machine.log.liveCount(in: verdict.presumed)
        // Our own policy says nothing about the gateway: it pays for no refusal, and ends no doubt.
        let shown = verdict.isPresumedByPolicy ? confirmed : accepted
        noteSettled(verdict, accepted, of: lane)
        settle(verdict.confirmed, of: lane, .confirmed)
        settle(verdict.presumed, of: lane, .presumed)
        settle(verdict.unknown, of: lane, .unknown)
        lanes.counters.resent += verdict.resent
        lanes.counters.accepted += accepted
        let presumedWrong = lane.machine.log.liveCount(in: verdict.presumedWrong)
        if shown > 0 || presumedWrong > 0 {
            let (shard, now) = (shard, now)
            lane.topic.health.change { health in
                health.accepted(shown, connectionOpenedAt: verdict.connectionOpenedAt, shard: shard, now: now)
                health.presumedWrong(presumedWrong)
            }
        }
        if presumedWrong > 0 {
            lanes.counters.presumedWrong += presumedWrong
            var metadata = metadata(lane)
            metadata["notifications"] = .stringConvertible(presumedWrong)
            logger.warning("presumed notifications were not accepted after all", metadata: metadata)
        }
        if let refusal = verdict.refused { settle(refusal, of: lane) }
    }

    private func settle(_ range: Range<UInt64>, of lane: GatewayLane, _ outcome: OutcomeKind) {
        guard !range.isEmpty else { return }
        guard remembers(outcome) else { return outcomes.settle(range, of: lane.machine.log, outcome) }
        memory.settle(outcome, of: lane.topic) { accept in
            for sequence in range {
                let entry = lane.machine.log.entry(at: sequence)
                guard !entry.isDropped else { continue }
                let token = NotificationFrame.command2Token(in: lane.machine.log.frame(at: sequence))
                accept(entry.reference, token, entry.checksum)
            }
        }
    }

    private func settle(_ refusal: LaneVerdict.Refusal, of lane: GatewayLane) {
        let entry = lane.machine.log.entry(at: refusal.sequence)
        guard !entry.isDropped else { return }
        let status = UInt16(refusal.status.rawValue)
        let cause: RefusedNotification.Cause
        switch refusal.rule {
        case .rejectToken: cause = .token(refusal.standing, nil)
        case .deadLetter, .isolate: cause = .defect(recordRefusal(refusal.status))
        case .retry, .stopTopic, .acceptedLast, .unattributable:
            return outcomes.settle(entry.reference, .rejected, status: status, reason: "gateway-status-\(status)")
        }
        let refused = RefusedNotification(
            cause: cause,
            reference: entry.reference,
            token: NotificationFrame.command2Token(in: lane.machine.log.frame(at: refusal.sequence)),
            checksum: entry.checksum,
            status: status,
            reason: TokenRecord.Reason.invalid.name
        )
        refuse(refused, of: lane.topic, random: settings.randomBits())
    }

    /// The reason of a dead letter whose content the gateway refuses.
    private func recordRefusal(_ status: APNsStatus) -> RecordRefusal {
        RecordRefusal(
            reason: "gateway-status-\(status.rawValue)",
            detail: "the gateway refused the notification: \(status)"
        )
    }

    private func note(_ response: ErrorResponse, of lane: GatewayLane) {
        lanes(of: lane.topic).counters.errorResponses[UInt16(response.status.rawValue), default: 0] += 1
        guard logger.logLevel <= .info else { return }
        var metadata = metadata(lane)
        metadata["status"] = .stringConvertible(response.status.rawValue)
        metadata["identifier"] = .stringConvertible(response.identifier)
        if let sequence = lane.machine.log.sequence(of: response.identifier) {
            let reference = lane.machine.log.entry(at: sequence).reference
            metadata.merge(outcomes.coordinates(of: reference)) { known, _ in known }
        }
        logger.info("error response", metadata: metadata)
    }

    private func metadata(_ lane: GatewayLane) -> Logger.Metadata {
        [
            "app": .string(lane.topic.bundleID),
            "environment": .string(lane.topic.environment),
            "lane": .stringConvertible(lane.number),
        ]
    }
}
