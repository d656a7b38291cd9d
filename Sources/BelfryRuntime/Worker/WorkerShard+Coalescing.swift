import KafkaClient
import PipelineCore
import PushSchemas

/// Between token state and the lanes: requests with a coalescing key wait for newer ones while there is a reason to.
///
/// Without a window that is a backlog: more of the partition, or of what returns from push.parked, was there when the request
/// came, or frames of its lane have not been written. So what would wait anyway waits where it can be superseded. Requests
/// without a key pass those that wait; what waits holds its offset.
extension WorkerShard {
    // MARK: Taking in

    /// By what requests supersede each other; nil for one that does not.
    func coalescingKey(
        of request: SendRequestView,
        _ message: KafkaMessageView,
        _ copy: ParkedCopy?
    ) -> (key: SipHash, stamp: Coalescer.Stamp)? {
        guard !request.coalescingKey.isEmpty else { return nil }
        coalescing.isUsed = true
        let key = RequestFingerprint.key(coalescingKey: request.coalescingKey)
        // A copy is as old as what it is one of.
        let publishedAt = copy == nil ? message.timestampMilliseconds : copy?.sourceTimestamp
        let offset = copy?.sourceOffset ?? message.offset
        return (key, Coalescer.Stamp(milliseconds: max(0, publishedAt ?? 0), offset: offset, token: 0))
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
        arrive(
            coalescing.nextTicket(),
            .init(batch: batch, coalescible: coalescible),
            window: hasWindow(sender, partition) ? .unknown : .none,
            waits: waits(of: batch.notifications[coalescible.index], sender, partition)
        )
    }

    /// A request that was due waits for a window, with what has come meanwhile.
    func waitOn(_ ticket: UInt64, _ window: Coalescer.Window) {
        guard let waiting = coalescing[ticket] else { return }
        _ = arrive(ticket, waiting, window: window, waits: [])
    }

    private func arrive(
        _ ticket: UInt64,
        _ waiting: Coalescing.Waiting,
        window: Coalescer.Window,
        waits: @autoclosure () -> [Coalescer.Wait]
    ) -> Bool {
        let notification = waiting.notification
        let request = Coalescer.Request(
            ticket: ticket,
            assignment: notification.reference.assignment,
            stamp: waiting.coalescible.stamp,
            expiration: notification.expiration
        )
        let arrival = coalescing.machine.arrive(
            request,
            of: subject(of: waiting),
            now: now,
            window: window,
            waits: waits()
        )
        if arrival == .passes { return false }
        if coalescing[ticket] == nil { coalescing.keep(ticket, waiting) }
        switch arrival {
        case .opens(let group) where window == .unknown: openWindow(of: group, with: ticket)
        case .joins(let superseded): endSuperseded(superseded)
        case .passes, .opens: break
        }
        return true
    }

    func subject(of waiting: Coalescing.Waiting) -> Coalescer.Subject {
        Coalescer.Subject(topic: waiting.notification.sender, fingerprint: waiting.coalescible.fingerprint)
    }

    /// Whether what is to be sent has a window. What is parked will have it when it returns.
    private func hasWindow(_ sender: TopicSender, _ partition: PartitionState) -> Bool {
        sender.coalescingWindow > .zero && goesToLane(of: sender, partition)
    }

    private func waits(
        of notification: PreparedNotification,
        _ sender: TopicSender,
        _ partition: PartitionState
    ) -> [Coalescer.Wait] {
        var waits: [Coalescer.Wait] = []
        if let end = backlogEnd(of: partition) {
            waits.append(.init(.backlog(assignment: partition.assignment), until: UInt64(max(0, end))))
        }
        let number = sender.affinity.lane(checksum: notification.checksum)
        let lane = sender.ownLanes[number]
        if sender.breaker.isClosed, lane.machine.waitingCount > 0, goesToLane(of: sender, partition) {
            waits.append(.init(.lane(topic: sender.index, number: number), until: lane.machine.log.tail))
        }
        return waits
    }

    /// Where what may bring newer requests ends, a lag where it has all been read; nil: nothing does.
    private func backlogEnd(of partition: PartitionState) -> Int64? {
        if let lag = partition.lag { return returns(lag) ? .max : nil }
        let place = KafkaTopicPartition(topic: partition.topic, partition: partition.partition)
        return partition.isPaused ? nil : consumer.cachedWatermarks(place)?.high
    }

    /// Whether more of a lag is being read. While a topic is probed, what is there is needed for that.
    private func returns(_ lag: PartitionState.Lag) -> Bool {
        guard let sender = senders.sender(topicHash: lag.topic), sender.breaker.isClosed else { return false }
        return !lag.owner.parking.places.isCaughtUp(lag.topic) && wants(lag.topic, of: lag.owner)
    }

    private func position(of gate: Coalescer.Gate) -> UInt64 {
        switch gate {
        case .backlog(let assignment):
            // While no more is taken in, nothing newer can come.
            guard let partition = partitions[Int(assignment)], !partition.isPaused else { return .max }
            if let lag = partition.lag { return returns(lag) ? 0 : .max }
            if prepared.isEmpty {
                let isAtRest = rest == nil && partition.movedAt + ShardLimits.backlogStandstillTicks <= coalescing.ticks
                return isAtRest ? .max : UInt64(max(0, partition.frontier.nextOffset ?? 0))
            }
            return UInt64(max(0, partition.passedOffset))
        case .lane(let topic, let number):
            let sender = senders.senders[Int(topic)]
            return sender.breaker.isClosed ? sender.ownLanes[number].machine.sentEnd : .max
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
        endSuperseded(settled.superseded)
        for ticket in settled.expired { endWaiting(of: ticket, .expired) }
        for due in settled.due { goOn(with: due) }
        closeCopy()
        return !settled.due.isEmpty
    }

    private func goOn(with due: Coalescer.Due) {
        guard let waiting = coalescing[due.ticket],
            let partition = partitions[Int(waiting.notification.reference.assignment)],
            hasWindow(senders.senders[Int(due.subject.topic)], partition)
        else { return release(due.ticket) }
        // One without came when its topic was parked.
        if due.hadWindow { endWindow(with: due) } else { waitOn(due.ticket, .unknown) }
    }

    private func endSuperseded(_ tickets: [UInt64]) {
        for ticket in tickets { endWaiting(of: ticket, .superseded) }
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
