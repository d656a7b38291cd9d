import APNsProtocol
import PipelineCore

/// Stops contents of a topic that the gateway refuses for every token, before each costs a connection.
///
/// Tells ``RefusedContents`` what the lanes' logs say. Bound to the shard's event loop.
final class ContentSweep {
    private var contents = RefusedContents()
    /// By the number of a lane: condemned notifications before this one have ended.
    private var sweptEnds: [Int: UInt64] = [:]

    /// The gateway named a notification whose content may be the reason.
    ///
    /// - Parameters:
    ///   - sequence: it is in the lane's log, and was handed to its connection.
    ///   - lanes: all of the topic.
    func suspect(at sequence: UInt64, of lane: GatewayLane, among lanes: [GatewayLane], now: MonotonicTime) {
        let reference = lane.machine.log.entry(at: sequence).reference
        let content = RefusedContents.Content(of: lane.machine.log.frame(at: sequence))
        guard contents.suspect(content, of: reference, now: now) else { return }
        // A refusal ends its connection, with which the log lets go of what is settled: the rest was accepted.
        for other in lanes {
            let end = other === lane ? min(sequence, other.machine.settledEnd) : other.machine.settledEnd
            clear(other.machine.log.head..<max(other.machine.log.head, end), in: other.machine.log)
        }
    }

    /// The gateway accepted a part of a lane's log.
    func clear(_ accepted: Range<UInt64>, in log: borrowing FrameLog) {
        guard !accepted.isEmpty else { return }
        if contents.gatewayAccepts() { sweptEnds = [:] }
        guard !contents.isEmpty else { return }
        for sequence in accepted {
            let entry = log.entry(at: sequence)
            let frame = log.frame(at: sequence)
            let bytes = NotificationFrame.command2Content(in: frame).payload.count
            guard !entry.isDropped, contents.mayConcern(entry.reference, bytes: bytes) else { continue }
            contents.accepted(RefusedContents.Content(of: frame), of: entry.reference)
        }
    }

    /// The gateway refused a notification for its content, for good.
    ///
    /// - Returns: that condemns the content, or its record.
    func prove(
        _ refusal: LaneVerdict.Refusal,
        of lane: GatewayLane,
        among lanes: [GatewayLane],
        now: MonotonicTime
    ) -> Bool {
        guard refusal.isNamed else { return false }
        suspect(at: refusal.sequence, of: lane, among: lanes, now: now)
        let entry = lane.machine.log.entry(at: refusal.sequence)
        let isCondemned = contents.refused(
            RefusedContents.Content(of: lane.machine.log.frame(at: refusal.sequence)),
            of: entry.reference,
            checksum: entry.checksum,
            status: refusal.status
        )
        if isCondemned { sweptEnds = [:] }
        return isCondemned
    }

    /// Notifications of a lane that were handed over wait again.
    func sweepAgain(_ lane: GatewayLane) { sweptEnds[lane.number] = nil }

    /// Takes notifications out of the lanes that wait and are condemned.
    ///
    /// - Parameter tell: called with each of them, once its lane has let go of all, and the status of its refusal.
    func sweep(_ lanes: [GatewayLane], _ tell: (GatewayLane, NotificationReference, APNsStatus) -> Void) {
        guard contents.isCondemning else { return }
        for lane in lanes { sweep(lane, tell) }
    }

    private func sweep(_ lane: GatewayLane, _ tell: (GatewayLane, NotificationReference, APNsStatus) -> Void) {
        var statuses: [APNsStatus] = []
        let taken = lane.machine.takeWaiting(from: sweptEnds[lane.number] ?? 0) { reference, frame in
            let bytes = NotificationFrame.command2Content(in: frame).payload.count
            guard contents.mayConcern(reference, bytes: bytes),
                let status = contents.end(RefusedContents.Content(of: frame), of: reference)
            else { return false }
            statuses.append(status)
            return true
        }
        sweptEnds[lane.number] = lane.machine.log.tail
        for (reference, status) in zip(taken, statuses) { tell(lane, reference, status) }
    }

    /// Forgets suspects of long ago.
    func expire(now: MonotonicTime) { contents.expire(now: now) }
}
