import BelfrySupport
import PipelineCore

/// Measures the way of notifications, where many are handled at once: those that are written together, or settle
/// together, count with the first of them. A notification that is sent again is measured again.
extension Gateway {
    /// Notifications leave over a connection, `first` before the others.
    func noteHandOver(
        _ count: Int,
        from first: NotificationReference,
        over transport: EnvironmentSettings.Transport
    ) {
        guard let feed = outcomes.feed(of: first), let publishedAt = feed.publishedAt(first.record) else { return }
        let age = Duration.milliseconds(max(0, settings.unixMilliseconds() - publishedAt))
        times.noteHandOver(count, age: age, over: transport, .init(isLive: feed.ledger.isLive))
    }

    /// Notes the notifications of a verdict that the gateway accepted, or is presumed to have.
    func noteSettled(_ verdict: LaneVerdict, _ count: Int, of lane: GatewayLane) {
        let accepted = verdict.confirmed.isEmpty ? verdict.presumed : verdict.confirmed
        guard count > 0, let writtenAt = verdict.writtenAt, !accepted.isEmpty else { return }
        let first = lane.machine.log.entry(at: accepted.lowerBound).reference
        times.noteSettled(count, after: writtenAt.elapsed(until: now), over: .binary, topicClass(of: first))
    }

    /// Notes notifications that were accepted over HTTP/2; each was answered by itself.
    func noteSettled(_ slots: [Int], of lane: StreamLane) {
        guard let first = slots.first else { return }
        let now = now
        let ofFirst = topicClass(of: lane.queue.reference(at: first))
        for slot in slots {
            let time = lane.queue.sentAt(slot).elapsed(until: now)
            times.noteSettled(1, after: time, over: .http2, ofFirst)
        }
    }

    private func topicClass(of reference: NotificationReference) -> DeliveryTimes.AppClass {
        .init(isLive: outcomes.feed(of: reference)?.ledger.isLive ?? true)
    }
}
