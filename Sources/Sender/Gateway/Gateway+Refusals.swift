import APNsProtocol
import PipelineCore
import PushSchemas
import PushTopics

/// A notification that was refused for good, over either transport.
struct RefusedNotification {
    enum Cause {
        /// The token, for topics of this kind, if the topic is trusted; nil: for all kinds. The binary interface knows
        /// of none.
        case token(AppHealth.RefusalStanding, TopicKind?)
        /// The token, which is dead since a time in UNIX seconds; nil: the service named none.
        case deadToken(since: UInt32?)
        /// A defect of ours: a dead letter.
        case defect(RecordRefusal)
        /// Something else about the notification.
        case other
    }

    var cause: Cause
    var reference: NotificationReference
    /// Valid during the call.
    var token: UnsafeRawBufferPointer
    /// CRC-32 of the token.
    var checksum: UInt32
    var status: UInt16
    var reason: String
}

extension Gateway {
    /// Ends a notification that was refused for good.
    ///
    /// - Parameter random: 64 random bits.
    func refuse(_ refused: RefusedNotification, of topic: Topic, random: @autoclosure () -> UInt64) {
        let (shard, now) = (shard, now)
        switch refused.cause {
        case .token(let standing, let kind):
            let random = random()
            let ticket = topic.health.change { $0.tokenRefused(shard: shard, standing, now: now, random: random) }
            reject(refused)
            guard ticket > 0 else { return }
            let tombstone = tombstone(of: refused, topic, ticket: ticket, kind: kind, deadSince: nil)
            silence(tombstone)
            tombstones.add(tombstone)
        case .deadToken(let since):
            noteRefusedContent(topic)
            reject(refused)
            // Notifications that wait are silenced once Redis has answered that the token has not registered since.
            tombstones.add(tombstone(of: refused, topic, ticket: 0, kind: nil, deadSince: since))
        case .defect(let refusal):
            noteRefusedContent(topic)
            outcomes.deadLetter(refused.reference, status: refused.status, refusal, now: now)
        case .other:
            noteRefusedContent(topic)
            reject(refused)
        }
    }

    private func reject(_ refused: RefusedNotification) {
        outcomes.settle(refused.reference, .rejected, status: refused.status, reason: refused.reason)
    }

    /// The service has judged a notification by its content: it works.
    func noteRefusedContent(_ topic: Topic) {
        let (shard, now) = (shard, now)
        topic.health.change { $0.contentRefused(shard: shard, now: now) }
    }

    /// - Parameters:
    ///   - ticket: of the refusal, which waits to be believed.
    ///   - kind: of the topics for which the token is refused; nil: all kinds.
    ///   - deadSince: the time that the service names, UNIX seconds: it needs no belief; nil: it named none.
    private func tombstone(
        of refused: RefusedNotification,
        _ topic: Topic,
        ticket: UInt64,
        kind: TopicKind?,
        deadSince: UInt32?
    ) -> TombstoneWriter.Refused {
        TombstoneWriter.Refused(
            topic: topic,
            token: Array(refused.token),
            checksum: refused.checksum,
            kind: kind,
            ticket: ticket,
            refusedAt: deadSince ?? UInt32(clamping: settings.unixMilliseconds() / 1000),
            loopTime: now,
            isProven: deadSince != nil
        )
    }

    /// Notifications with an outcome are remembered before they are done, if their requests have ids.
    func remembers(_ outcome: OutcomeKind) -> Bool { settings.dedupeWindow > .zero && outcome != .unknown }
}
