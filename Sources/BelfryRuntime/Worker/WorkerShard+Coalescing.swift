import KafkaClient
import PipelineCore
import PushSchemas

/// Between token state and the lanes: requests with a coalescing key wait for newer ones while there is a reason to.
///
/// Without a window that is a backlog: more of the partition was there when the request came, or frames of its lane have not
/// been written. So what would wait anyway waits where it can be superseded. Requests without a key pass those that wait;
/// what waits holds its offset.
extension WorkerShard {
    // MARK: Taking in

    /// By what requests supersede each other; nil for one that does not.
    func coalescingKey(
        of request: SendRequestView,
        _ message: KafkaMessageView,
        returns: Bool
    ) -> (key: SipHash, publishedAt: Int64)? {
        guard !request.coalescingKey.isEmpty, !returns else { return nil }
        coalescing.isUsed = true
        let key = RequestFingerprint.key(coalescingKey: request.coalescingKey)
        return (key, max(0, message.timestampMilliseconds ?? 0))
    }

    /// Remembers how far its partitions were taken in with a batch.
    func noteEnds(of batch: PreparedBatch) {
        for partition in activePartitions {
            guard let end = partition.frontier.nextOffset else { continue }
            batch.ends.append((partition, end))
            if partition.passedOffset < end { partition.movedAt = coalescing.ticks }
        }
    }

    /// Everything of a batch has come to the sending stage.
    func notePassed(_ batch: PreparedBatch) {
        for (partition, offset) in batch.ends where partition.passedOffset < offset {
            partition.passedOffset = offset
            partition.movedAt = coalescing.ticks
        }
    }

    // MARK: Waiting

    /// Whether a notification waits, or was superseded by one that does: it goes no further now.
    func waits(
        _ coalescible: Coalescible,
        in batch: PreparedBatch,
        of sender: TopicSender,
        _ partition: PartitionState
    ) -> Bool {
        let notification = batch.notifications[coalescible.index]
        let ticket = coalescing.nextTicket()
        let subject = Coalescer.Subject(topic: sender.index, fingerprint: coalescible.fingerprint)
        let request = Coalescer.Request(
            ticket: ticket,
            assignment: notification.reference.assignment,
            stamp: coalescible.stamp,
            expiration: notification.expiration
        )
        let window = sender.coalescingWindow > .zero ? Coalescer.Window.unknown : .none
        let arrival = coalescing.machine.arrive(
            request,
            of: subject,
            now: now,
            window: window,
            waits: waits(of: notification, sender, partition)
        )
        if arrival == .passes { return false }
        coalescing.keep(ticket, .init(batch: batch, coalescible: coalescible))
        switch arrival {
        case .opens(let group) where window == .unknown:
            openWindow(of: group, subject, coalescible.stamp, checksum: notification.checksum)
        case .joins(let superseded): for ticket in superseded { endWaiting(of: ticket, .superseded) }
        case .passes, .opens: break
        }
        return true
    }

    private func waits(
        of notification: PreparedNotification,
        _ sender: TopicSender,
        _ partition: PartitionState
    ) -> [Coalescer.Wait] {
        var waits: [Coalescer.Wait] = []
        let place = KafkaTopicPartition(topic: partition.topic, partition: partition.partition)
        if !partition.isPaused, let end = consumer.cachedWatermarks(place)?.high {
            waits.append(.init(.backlog(assignment: partition.assignment), until: UInt64(max(0, end))))
        }
        let number = sender.affinity.lane(checksum: notification.checksum)
        let lane = sender.ownLanes[number]
        if !sender.detours, lane.machine.waitingCount > 0 {
            waits.append(.init(.lane(topic: sender.index, number: number), until: lane.machine.log.tail))
        }
        return waits
    }

    private func position(of gate: Coalescer.Gate) -> UInt64 {
        switch gate {
        case .backlog(let assignment):
            // While no more is taken in, nothing newer can come.
            guard let partition = partitions[Int(assignment)], !partition.isPaused else { return .max }
            if prepared.isEmpty {
                let isAtRest = rest == nil && partition.movedAt + ShardLimits.backlogStandstillTicks <= coalescing.ticks
                return isAtRest ? .max : UInt64(max(0, partition.frontier.nextOffset ?? 0))
            }
            return UInt64(max(0, partition.passedOffset))
        case .lane(let topic, let number):
            let sender = senders.senders[Int(topic)]
            return sender.detours ? .max : sender.ownLanes[number].machine.sentEnd
        }
    }

    // MARK: Going on

    /// Lets go what nothing holds any more.
    ///
    /// - Returns: whether anything has come to the lanes.
    func releaseCoalesced() -> Bool {
        guard !coalescing.machine.isEmpty else { return false }
        let now = now
        for gate in coalescing.machine.gates {
            coalescing.machine.passed(gate, upTo: position(of: gate))
        }
        let settled = coalescing.machine.takeDue(now: now, unixSeconds: settings.unixMilliseconds() / 1000)
        for ticket in settled.superseded { endWaiting(of: ticket, .superseded) }
        for ticket in settled.expired { endWaiting(of: ticket, .expired) }
        for due in settled.due {
            if due.hadWindow { endWindow(with: due) } else { release(due.ticket) }
        }
        closeCopy()
        return !settled.due.isEmpty
    }

    func endWaiting(of ticket: UInt64, _ outcome: OutcomeKind) {
        guard let waiting = coalescing.take(ticket) else { return }
        settle(waiting.notification.reference, outcome)
    }

    /// Sends a notification on its way that waits no more. What was learned since it came counts.
    func release(_ ticket: UInt64) {
        guard let waiting = coalescing.take(ticket) else { return }
        let notification = waiting.notification
        guard let partition = partitions[Int(notification.reference.assignment)], partition.phase == .active else {
            return
        }
        let sender = senders.senders[Int(notification.sender)]
        if isRefused(notification, by: sender) { return }
        if notification.expiration != 0, Int64(notification.expiration) < settings.unixMilliseconds() / 1000 {
            return settle(notification.reference, .expired)
        }
        dispatch(notification, at: waiting.coalescible.index, in: waiting.batch, of: sender, partition)
        if sender.detours { noteLateFollower(notification.reference, of: sender.topicHash, in: partition) }
    }
}
