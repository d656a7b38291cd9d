import KafkaClient
import PipelineCore

/// Handing over: what cannot be sent is copied to push.parked, in order, and done in its source when the broker has it.
extension WorkerShard {
    /// A copy in the making: adjacent tokens of one record become one.
    struct OpenCopy {
        var sender: Int32
        /// Of its first token.
        var reference: NotificationReference
        var tokens = TokenRuns()
    }

    // MARK: At the sending stage

    /// Whether a notification goes another way than into its lane: to push.parked, or into memory until what was parked of its
    /// topic has come back.
    func detour(
        _ notification: PreparedNotification,
        at index: Int,
        in batch: PreparedBatch,
        of sender: TopicSender,
        _ partition: PartitionState
    ) -> Bool {
        guard !goesToLane(of: sender, partition) else {
            if partition.lag == nil { noteFollower(notification.reference, of: sender.topicHash, in: partition) }
            return false
        }
        let topic = sender.topicHash
        guard !partition.parking.isCaughtUp(topic) else {
            park(notification.reference, of: sender)
            return true
        }
        if sender.breaker.isClosed, partition.parking.places.rest(of: topic) <= ShardLimits.catchUpRecords,
            partition.parking.held[topic]?.count ?? 0 < ShardLimits.heldNotifications
        {
            partition.parking.held[topic, default: []].append(.init(batch: batch, index: index))
            return true
        }
        parkHeld(topic, of: sender, in: partition)
        park(notification.reference, of: sender)
        return true
    }

    /// Whether a topic's notifications of a partition go into their lanes now. Asking takes up what no commit names of the
    /// topic, see ``adopt(_:in:)``.
    func goesToLane(of sender: TopicSender, _ partition: PartitionState) -> Bool {
        // What returns does so whatever comes.
        guard sender.detours, partition.lag == nil else { return true }
        adopt(sender.topicHash, in: partition)
        return partition.parking.isCaughtUp(sender.topicHash) && !partition.parking.handsOver.contains(sender.index)
    }

    /// Everything that was parked has come back: what was held follows it.
    func releaseHeld(of partition: PartitionState) {
        for (topic, held) in partition.parking.held.sorted(by: { $0.key < $1.key })
        where partition.parking.places.isCaughtUp(topic) {
            partition.parking.held[topic] = nil
            if let first = held.first {
                noteFollower(first.batch.notifications[first.index].reference, of: topic, in: partition)
            }
            for each in held {
                let notification = each.batch.notifications[each.index]
                let sender = senders.senders[Int(notification.sender)]
                // What came back of its key may wait still, and is older.
                if let coalescible = each.batch.coalescible(at: each.index),
                    waits(coalescible, in: each.batch, of: sender, partition)
                {
                    continue
                }
                if coalescing.isUsed { noteLateFollower(notification.reference, of: topic, in: partition) }
                append(notification, of: each.batch, to: sender)
            }
        }
    }

    private func noteFollower(_ reference: NotificationReference, of topic: UInt64, in partition: PartitionState) {
        partition.parking.noteFollower(
            of: topic,
            source: partition.source(of: reference.record).map { batch, index in batch[index].offset }
        )
    }

    /// What follows what was parked may be older than what followed before: it has waited to be coalesced.
    func noteLateFollower(_ reference: NotificationReference, of topic: UInt64, in partition: PartitionState) {
        guard let (batch, index) = partition.source(of: reference.record) else { return }
        partition.parking.noteLateFollower(of: topic, source: batch[index].offset)
    }

    private func parkHeld(_ topic: UInt64, of sender: TopicSender, in partition: PartitionState) {
        guard let held = partition.parking.held.removeValue(forKey: topic) else { return }
        for each in held { park(each.batch.notifications[each.index].reference, of: sender) }
    }

    // MARK: From the lanes

    /// Nothing of the topic is in flight: takes what waits, and lets what is new be parked at once.
    ///
    /// - Returns: false while the broker does not say where a partition of push.parked ends.
    func handOver(_ sender: TopicSender) -> Bool {
        var isComplete = true
        for partition in activePartitions {
            guard partition.parking.handsOver.contains(sender.index) || findEnd(of: partition) else {
                isComplete = false
                continue
            }
            for reference in takeWaiting(of: sender, in: partition) { park(reference, of: sender) }
            parkHeld(sender.topicHash, of: sender, in: partition)
            closeCopy()
            partition.parking.handsOver.insert(sender.index)
            readAgain(sender, in: partition)
        }
        if isComplete { sender.suspects = [] }
        return isComplete
    }

    /// What waits in the lanes, and what an unbelievable gateway refused, in the order of its records.
    private func takeWaiting(of sender: TopicSender, in partition: PartitionState) -> [NotificationReference] {
        // Without its source nothing can be copied: it has its outcome, and is only to be sent again.
        let isTaken = { (reference: NotificationReference) in
            reference.assignment == partition.assignment && partition.source(of: reference.record) != nil
        }
        var references = sender.suspects.map(\.reference).filter(isTaken)
        for lane in sender.lanes { references += lane.machine.takeWaiting(where: isTaken) }
        let first = partition.frontier.firstRecord
        return references.sorted {
            // Behind the frontier stands what was presumed wrongly; it is older than all else.
            (Int32(bitPattern: $0.record &- first), $0.token) < (Int32(bitPattern: $1.record &- first), $1.token)
        }
    }

    /// Whether it is known where the next copy in the partition will be stored, or before what.
    func findEnd(of partition: PartitionState) -> Bool {
        if partition.parking.places.end != nil, !partition.parking.places.hasLostEnd { return true }
        guard nextEndQuery <= now else { return false }
        do throws(KafkaError) {
            let there = try consumer.watermarks(
                of: parkedPlace(of: partition),
                timeoutMilliseconds: ShardLimits.positionsTimeoutMilliseconds
            )
            partition.parking.places.noteEnd(there.high)
            partition.parking.begin(at: there.high, source: partition.startOffset)
            return true
        } catch {
            nextEndQuery = now + ShardLimits.retryInterval
            logger.warning(
                "the end of push.parked could not be read; trying again",
                metadata: ["partition": "\(partition.partition)", "error": "\(error)"]
            )
            return false
        }
    }

    // MARK: Copies

    /// Puts a notification into the copy of its record.
    func park(_ reference: NotificationReference, of sender: TopicSender) {
        if let open = openCopy,
            open.sender != sender.index || open.reference.assignment != reference.assignment
                || open.reference.record != reference.record
                || open.tokens.runs.last.map({ reference.token < $0.upperBound }) ?? false
        {
            closeCopy()
        }
        if openCopy == nil { openCopy = OpenCopy(sender: sender.index, reference: reference) }
        openCopy?.tokens.append(reference.token)
    }

    /// Hands the copy in the making to the producer, behind all that came before it.
    func closeCopy() {
        guard let copy = openCopy else { return }
        openCopy = nil
        guard let partition = partitions[Int(copy.reference.assignment)] else { return }
        let sender = senders.senders[Int(copy.sender)]
        if let start = partition.parking.places.handedOver(sender.topicHash) {
            addLag(of: sender.topicHash, from: start, done: DoneRanges(), to: partition)
        }
        sender.detours = true
        partition.unacknowledged += 1
        partition.parking.copies.append(
            publications.insert(
                Publication(
                    reference: copy.reference,
                    content: .parkedCopy(sender: copy.sender, tokens: copy.tokens)
                )
            )
        )
        produceCopies(of: partition)
    }

    /// Gives the producer what it has room for.
    func produceCopies(of partition: PartitionState) {
        guard partition.parking.copiesWaitUntil <= now else { return }
        while let number = partition.parking.copies.next() {
            guard let publication = publications[number],
                case .parkedCopy(let sender, let tokens) = publication.content,
                let (batch, index) = partition.source(of: publication.reference.record)
            else {
                // It has its outcome by now; it was only to be sent again.
                finishCopy(number, in: partition) { places, topic in places.givenUp(topic) }
                continue
            }
            do throws(KafkaError) {
                try produce(batch[index], tokens, sender, of: partition, publication.reference.record, number)
            } catch {
                if error.isMessageTooLarge {
                    giveUpCopy(number, in: partition)
                    continue
                }
                if !error.isQueueFull {
                    partition.parking.copiesWaitUntil = now + ShardLimits.retryInterval
                    logger.error("a copy could not be parked; trying again", metadata: ["error": "\(error)"])
                }
                return partition.parking.copies.notTaken(number)
            }
        }
    }

    private func produce(
        _ message: KafkaMessageView,
        _ tokens: TokenRuns,
        _ sender: Int32,
        of partition: PartitionState,
        _ record: UInt32,
        _ number: UInt64
    ) throws(KafkaError) {
        let copy = ParkedCopy(
            sourceTopic: settings.names.requests,
            sourceOffset: message.offset,
            sourceTimestamp: message.timestampMilliseconds,
            environment: senders.senders[Int(sender)].environment,
            tokens: partition.frontier.tokens(of: record).map { tokens.isAll(of: $0) } ?? false ? nil : tokens,
            writer: partition.parking.writer
        )
        try producer.produce(
            topic: settings.names.parked,
            partition: partition.partition,
            key: message.key,
            value: message.value,
            headers: copy.headers(of: message),
            opaque: number
        )
    }

    /// The broker's word on a copy.
    func copyDelivered(_ number: UInt64, _ publication: Publication, offset: Int64, error: KafkaError?) {
        guard case .parkedCopy(_, let tokens) = publication.content,
            let partition = partitions[Int(publication.reference.assignment)]
        else {
            // Whoever has the partition now consumes its source again.
            _ = publications.remove(number)
            return
        }
        if let error {
            if error.isMessageTooLarge { return giveUpCopy(number, in: partition) }
            logger.error("a copy was not parked; it is tried again", metadata: ["error": "\(error)"])
            partition.parking.copiesWaitUntil = now + ShardLimits.retryInterval
            return partition.parking.copies.failed(number)
        }
        finishCopy(number, in: partition) { places, topic in places.stored(topic, at: offset) }
        for token in tokens.runs.joined() { partition.frontier.markDone(publication.reference.record, token: token) }
        counters.handedOver += tokens.count
    }

    /// The broker will never take it: its notifications become a dead letter.
    private func giveUpCopy(_ number: UInt64, in partition: PartitionState) {
        guard let publication = publications[number] else { return }
        finishCopy(number, in: partition) { places, topic in places.givenUp(topic) }
        let record = publication.reference.record
        reject(
            record,
            of: partition,
            tokens: UInt32(partition.frontier.tokens(of: record) ?? 0),
            reason: "parked-copy-too-large",
            detail: "its topic does not work, and push.parked takes no record of this size"
        )
    }

    private func finishCopy(
        _ number: UInt64,
        in partition: PartitionState,
        _ note: (inout ParkedPartition, UInt64) -> Void
    ) {
        partition.parking.copies.settled(number)
        guard let publication = publications.remove(number), case .parkedCopy(let sender, _) = publication.content
        else { return }
        partition.unacknowledged -= 1
        note(&partition.parking.places, senders.senders[Int(sender)].topicHash)
    }

    /// The partition goes: what the producer does not have is left to whoever has the partition next.
    func dropCopies(of partition: PartitionState) {
        for number in partition.parking.copies.unanswered {
            finishCopy(number, in: partition) { places, topic in places.givenUp(topic) }
        }
    }
}
