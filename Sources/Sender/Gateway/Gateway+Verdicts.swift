import APNsProtocol
import Logging
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Turns the verdicts of lanes into outcomes, tombstones and the topic's health.
extension Gateway: GatewayLaneDelegate {
    func lane(_ lane: GatewayLane, settled verdict: LaneVerdict) {
        let lanes = lanes(of: lane)
        let confirmed = lane.machine.log.liveCount(in: verdict.confirmed)
        let accepted = confirmed + lane.machine.log.liveCount(in: verdict.presumed)
        // Our own policy says nothing about the gateway: it pays for no refusal, and ends no doubt.
        let shown = verdict.isPresumedByPolicy ? confirmed : accepted
        noteSettled(verdict, accepted, of: lane)
        settle(verdict.confirmed, of: lane, lanes.topic, .confirmed)
        settle(verdict.presumed, of: lane, lanes.topic, .presumed)
        settle(verdict.unknown, of: lane, lanes.topic, .unknown)
        lanes.binary.accepted(verdict.confirmed, of: lane)
        clearContents(verdict.confirmed, of: lane, lanes)
        if !verdict.isPresumedByPolicy {
            lanes.binary.accepted(verdict.presumed, of: lane)
            clearContents(verdict.presumed, of: lane, lanes)
        }
        lanes.counters.resent += verdict.resent
        lanes.counters.accepted += accepted
        let presumedWrong = lane.machine.log.liveCount(in: verdict.presumedWrong)
        if shown > 0 || presumedWrong > 0 {
            let shard = shard
            let now = now
            lanes.topic.health.change { health in
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
        if let refusal = verdict.refused { settle(refusal, of: lane, lanes) }
        // Notifications that were handed over wait again.
        if verdict.resent > 0 { lanes.sweptEnds[lane.number] = nil }
        endCondemned(of: lanes)
    }

    private func settle(_ range: Range<UInt64>, of lane: GatewayLane, _ topic: Topic, _ outcome: OutcomeKind) {
        guard !range.isEmpty else { return }
        if settings.dedupeWindow > .zero, outcome != .unknown {
            return memory.settle(outcome, of: topic) { accept in
                for sequence in range {
                    let entry = lane.machine.log.entry(at: sequence)
                    guard !entry.isDropped else { continue }
                    let token = NotificationFrame.command2Token(in: lane.machine.log.frame(at: sequence))
                    accept(entry.reference, token, entry.checksum)
                }
            }
        }
        outcomes.settle(range, of: lane.machine.log, outcome)
    }

    private func settle(_ refusal: LaneVerdict.Refusal, of lane: GatewayLane, _ lanes: TopicLanes) {
        let entry = lane.machine.log.entry(at: refusal.sequence)
        guard !entry.isDropped else { return }
        let status = UInt16(refusal.status.rawValue)
        let health = lanes.topic.health
        let shard = shard
        let now = now
        switch refusal.rule {
        case .rejectToken:
            let random = settings.randomBits()
            let standing = lanes.binary.standing(of: refusal, on: lane)
            let ticket = health.change { $0.tokenRefused(shard: shard, standing, now: now, random: random) }
            outcomes.settle(entry.reference, .rejected, status: status, reason: TokenRecord.Reason.invalid.name)
            lanes.binary.forgetAccepted(checksum: entry.checksum)
            guard ticket > 0 else { return }
            let refused = TombstoneWriter.Refused(
                topic: lanes.topic,
                token: Array(NotificationFrame.command2Token(in: lane.machine.log.frame(at: refusal.sequence))),
                checksum: entry.checksum,
                ticket: ticket,
                refusedAt: UInt32(clamping: settings.unixMilliseconds() / 1000),
                loopTime: now,
                isProven: false
            )
            silence(refused)
            tombstones.add(refused)
        case .deadLetter, .isolate:
            health.change { $0.contentRefused(shard: shard, now: now) }
            deadLetter(entry.reference, refusal.status)
            proveRefused(refusal, of: lane, lanes)
        case .retry, .stopTopic, .acceptedLast, .unattributable:
            outcomes.settle(entry.reference, .rejected, status: status, reason: "gateway-status-\(status)")
        }
    }

    func laneMayConnect(_ lane: GatewayLane, now: MonotonicTime, sparing: Bool) -> MonotonicTime? {
        let topic = lanes(of: lane)
        // The attempt would fail, at the cost of the budget.
        guard topic.topic.flow.hasCertificate else { return now + ShardLimits.retryInterval }
        let purpose: ConnectionBudget.Purpose =
            sparing ? .successor : topic.sending == .probing ? .probe : lane.hasConnected ? .reconnect : .first
        return settings.connectionBudget.takeConnection(topic: topic.topic.budgetNumber, purpose: purpose, now: now)
    }

    func laneConnected(_ lane: GatewayLane) {
        let lanes = lanes(of: lane)
        lanes.counters.connects += 1
        lanes.binary.gatewayAnswers(lane, now: now)
        logger.info("connected to the gateway", metadata: metadata(lane))
    }

    func laneDisconnected(_ lane: GatewayLane, reason: DisconnectReason) {
        let lanes = lanes(of: lane)
        lanes.counters.count(reason)
        noteEnd(of: lanes.topic, reason)
    }

    func laneSuccessorRefused(_ lane: GatewayLane) {
        lanes(of: lane).counters.count(.certificateRefused)
    }

    func laneRotates(_ lane: GatewayLane, _ reason: ConnectionRotation.Reason) {
        lanes(of: lane).counters.count(reason)
    }

    /// A connection of a topic ended, or could not be made.
    func noteEnd(of topic: Topic, _ reason: DisconnectReason) {
        let shard = shard
        let now = now
        let random = settings.randomBits()
        switch reason {
        case .certificateRefused:
            topic.health.change { $0.failed(.certificateRefused, now: now, random: random) }
        case .connectFailed, .endOfStream, .failure:
            topic.health.change { $0.connectionFailed(shard: shard, now: now, random: random) }
        case .errorResponse, .shutdown, .closedHere, .goAway:
            break
        }
    }

    func lane(_ lane: GatewayLane, answered response: ErrorResponse) {
        let lanes = lanes(of: lane)
        let rule = StatusRule(response.status)
        lanes.counters.errorResponses[UInt16(response.status.rawValue), default: 0] += 1
        if rule == .stopTopic {
            let now = now
            let random = settings.randomBits()
            lanes.topic.health.change { $0.failed(.topicRefused, now: now, random: random) }
        }
        if rule == .rejectToken { lanes.binary.noteInvalidToken(now: now) }
        if rule == .deadLetter || rule == .isolate, let named = lane.machine.sequence(named: response) {
            suspectContent(at: named, of: lane, lanes)
        }
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

    func laneSorts(_ lane: GatewayLane) {
        lanes(of: lane).binary.sort(lane, now: now)
    }

    private func metadata(_ lane: GatewayLane) -> Logger.Metadata {
        let topic = lanes(of: lane).topic
        return [
            "topic": .string(topic.bundleID),
            "environment": .string(topic.environment),
            "lane": .stringConvertible(lane.number),
        ]
    }
}
