import APNsProtocol
import Logging
import PipelineCore
import PushSchemas
import PushTopics

/// Stops contents that the gateway refuses for every token, before each costs a connection over the binary interface.
extension Gateway {
    /// The gateway named a notification whose content may be the reason.
    ///
    /// - Parameter sequence: it is in the lane's log, and was handed to its connection.
    func suspectContent(at sequence: UInt64, of lane: GatewayLane, _ lanes: TopicLanes) {
        let reference = lane.machine.log.entry(at: sequence).reference
        let content = RefusedContents.Content(of: lane.machine.log.frame(at: sequence))
        guard lanes.refusedContents.suspect(content, of: reference, now: now) else { return }
        // A refusal ends its connection, with which the log lets go of what is settled: the rest was accepted.
        for other in lanes.binary.lanes {
            let end = other === lane ? min(sequence, other.machine.settledEnd) : other.machine.settledEnd
            clearContents(other.machine.log.head..<max(other.machine.log.head, end), of: other, lanes)
        }
    }

    /// The gateway accepted a part of a lane's log.
    func clearContents(_ accepted: Range<UInt64>, of lane: GatewayLane, _ lanes: TopicLanes) {
        guard !accepted.isEmpty else { return }
        if lanes.refusedContents.gatewayAccepts() { lanes.sweptEnds = [:] }
        guard !lanes.refusedContents.isEmpty else { return }
        for sequence in accepted {
            let entry = lane.machine.log.entry(at: sequence)
            let frame = lane.machine.log.frame(at: sequence)
            let bytes = NotificationFrame.command2Content(in: frame).payload.count
            guard !entry.isDropped, lanes.refusedContents.mayConcern(entry.reference, bytes: bytes) else { continue }
            lanes.refusedContents.accepted(RefusedContents.Content(of: frame), of: entry.reference)
        }
    }

    /// The gateway refused a notification for its content, for good.
    func proveRefused(_ refusal: LaneVerdict.Refusal, of lane: GatewayLane, _ lanes: TopicLanes) {
        guard refusal.isNamed else { return }
        suspectContent(at: refusal.sequence, of: lane, lanes)
        let entry = lane.machine.log.entry(at: refusal.sequence)
        let isCondemned = lanes.refusedContents.refused(
            RefusedContents.Content(of: lane.machine.log.frame(at: refusal.sequence)),
            of: entry.reference,
            checksum: entry.checksum,
            status: refusal.status
        )
        guard isCondemned else { return }
        lanes.sweptEnds = [:]
        var metadata = outcomes.coordinates(of: entry.reference)
        metadata["status"] = .stringConvertible(refusal.status.rawValue)
        logger.warning("content is refused to every token", metadata: metadata)
    }

    /// Ends notifications that wait and are condemned, each with the dead letter of a refused one.
    func endCondemned(of lanes: TopicLanes) {
        guard lanes.refusedContents.isCondemning else { return }
        for lane in lanes.binary.lanes {
            var statuses: [APNsStatus] = []
            let ended = lane.machine.takeWaiting(from: lanes.sweptEnds[lane.number] ?? 0) { reference, frame in
                let bytes = NotificationFrame.command2Content(in: frame).payload.count
                guard lanes.refusedContents.mayConcern(reference, bytes: bytes),
                    let status = lanes.refusedContents.end(RefusedContents.Content(of: frame), of: reference)
                else { return false }
                statuses.append(status)
                return true
            }
            lanes.sweptEnds[lane.number] = lane.machine.log.tail
            for (reference, status) in zip(ended, statuses) { deadLetter(reference, status) }
        }
    }

    /// Ends a notification that the gateway refuses for its content.
    func deadLetter(_ reference: NotificationReference, _ status: APNsStatus) {
        let refusal = RecordRefusal(
            reason: "gateway-status-\(status.rawValue)",
            detail: "the gateway refused the notification: \(status)"
        )
        outcomes.deadLetter(reference, status: UInt16(status.rawValue), refusal, now: now)
    }
}
