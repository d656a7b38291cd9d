import KafkaClient
import PipelineCore
import PushSchemas

/// Return: what was parked of topics that work comes back through the same stages, in the order in which it was parked.
extension WorkerShard {
    /// Reads on in push.parked where some topic wants it.
    ///
    /// - Returns: whether there was something; more may be waiting.
    func takeInParked() -> Bool {
        var hasRead = false
        for partition in activePartitions where !partition.parking.places.isEmpty {
            guard canTakeIn else { return hasRead }
            let place = parkedPlace(of: partition)
            let wanting = Set(partition.parking.lags.keys.filter { wants($0, of: partition) })
            let reading = partition.parking.places.read(wants: wanting.contains)
            do throws(KafkaError) {
                switch reading {
                case .stop:
                    reader?.stop(place)
                    continue
                case .begin(let offset):
                    guard nextReading <= now else {
                        partition.parking.places.halt()
                        continue
                    }
                    try openReader().begin(place, at: offset)
                case .goOn:
                    break
                }
            } catch {
                partition.parking.places.halt()
                nextReading = now + ShardLimits.retryInterval
                logger.warning("push.parked could not be read; trying again", metadata: ["error": "\(error)"])
                continue
            }
            if let batch = reader?.read(place, max: ShardLimits.parkedRecordsPerBatch) {
                takeIn(batch, of: partition)
                hasRead = true
            }
        }
        return hasRead
    }

    private func openReader() throws(KafkaError) -> any PartitionReader {
        if let reader { return reader }
        let reader = try makeReader()
        self.reader = reader
        return reader
    }

    func parkedPlace(of partition: PartitionState) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: settings.names.parked, partition: partition.partition)
    }

    // MARK: Who takes

    func wants(_ topic: UInt64, of partition: PartitionState) -> Bool {
        guard let sender = senders.sender(topicHash: topic) else { return true }
        return hasRoom(sender, for: partition.parking.lags[topic], share: 2)
    }

    /// - Parameter share: what part of the room must be free of what waits.
    private func hasRoom(_ sender: TopicSender, for lag: PartitionState?, share: Int = 1) -> Bool {
        guard !sender.breaker.isOpen else { return false }
        let limit = sender.breaker.isClosed ? ShardLimits.returningNotifications : ShardLimits.probingNotifications
        let waiting = sender.lanes.reduce(0) { $0 + $1.machine.waitingCount }
        return waiting < limit / share && lag?.frontier.uncommitted ?? 0 <= settings.maxUncommitted / share
    }

    // MARK: Taking in

    private func takeIn(_ batch: KafkaBatch, of partition: PartitionState) {
        var prepared = makeBatch(batch)
        let unixSeconds = settings.unixMilliseconds() / 1000
        let now = now
        for index in 0..<batch.count {
            let message = batch[index]
            if message.isError {
                if let error = message.error { reportParked(error, at: message.offset, of: partition) }
                continue
            }
            // The reader was stopped inside this batch.
            guard let position = partition.parking.places.position else { break }
            guard message.offset >= position else { continue }
            partition.parking.places.passed(upTo: message.offset)
            guard let (copy, topic) = identify(message), takes(topic, message, of: partition) else {
                if partition.parking.places.position != nil {
                    partition.parking.places.passed(upTo: message.offset + 1)
                }
                continue
            }
            partition.parking.places.passed(upTo: message.offset + 1)
            guard let lag = partition.parking.lags[topic] else { continue }
            let counts = partition.parking.segments.counts(
                copyAt: message.offset,
                source: copy.sourceOffset,
                writer: copy.writer
            )
            let returning = Returning(copy: copy, counts: counts)
            take(
                message,
                at: index,
                of: lag,
                into: prepared,
                batch: batch,
                unixSeconds: unixSeconds,
                now: now,
                returning: returning
            )
            if prepared.returning.last !== lag { prepared.returning.append(lag) }
            if prepared.notifications.count >= ShardLimits.notificationsPerBatch {
                queue(prepared)
                prepared = makeBatch(batch)
            }
        }
        queue(prepared)
    }

    private func queue(_ batch: PreparedBatch) {
        guard !batch.notifications.isEmpty else { return }
        for lag in batch.returning { lag.lag?.owner.parking.places.batchTaken(lag.lag?.topic ?? 0) }
        prepared.append(batch)
    }

    /// Which copy it is, and of which topic; nil if it is none.
    private func identify(_ message: KafkaMessageView) -> (ParkedCopy, UInt64)? {
        guard let copy = ParkedCopy(message), let key = try? RecordKeyView(parsing: message.key) else {
            counters.foreignParked += 1
            return nil
        }
        let bundleID = String(decoding: key.bundleID, as: UTF8.self)
        return (copy, ParkedLags.topicHash(environment: copy.environment, bundleID: bundleID))
    }

    /// Whether a topic takes the copy that the reader has come to; without room it is left behind, and the reader stops if
    /// nobody else wants to go on.
    private func takes(_ topic: UInt64, _ message: KafkaMessageView, of partition: PartitionState) -> Bool {
        adopt(topic, in: partition)
        guard partition.parking.places.takes(topic, at: message.offset) else { return false }
        guard let sender = senders.sender(topicHash: topic),
            !hasRoom(sender, for: partition.parking.lags[topic])
        else { return true }
        partition.parking.places.leave(topic, at: message.offset)
        let isWanted = partition.parking.lags.keys.contains { $0 != topic && wants($0, of: partition) }
        if !isWanted {
            partition.parking.places.halt()
            reader?.stop(parkedPlace(of: partition))
        }
        return false
    }

    private func reportParked(_ error: KafkaError, at offset: Int64, of partition: PartitionState) {
        if error.isPartitionEnd {
            if offset >= 0 { partition.parking.places.passed(upTo: offset) }
        } else if error.isOffsetOutOfRange {
            skipDeletedCopies(of: partition)
        } else {
            logger.error(
                "reading push.parked failed",
                metadata: ["partition": "\(partition.partition)", "error": "\(error)"]
            )
            partition.parking.places.halt()
            nextReading = now + ShardLimits.retryInterval
        }
    }

    // MARK: Lags

    /// What of a topic's copies has its outcome, from an offset of push.parked on.
    func addLag(of topic: UInt64, from offset: Int64, done: DoneRanges, to partition: PartitionState) {
        let lag = PartitionState(
            topic: settings.names.parked,
            partition: partition.partition,
            assignment: UInt32(partitions.count),
            startOffset: offset,
            alreadyDone: done,
            lag: .init(owner: partition, topic: topic)
        )
        partitions.append(lag)
        partition.parking.lags[topic] = lag
        senders.sender(topicHash: topic)?.detours = true
    }

    /// A topic that no commit names may have lag where there was no room for all names.
    func adopt(_ topic: UInt64, in partition: PartitionState) {
        guard let start = partition.parking.places.adopt(topic) else { return }
        addLag(of: topic, from: start, done: DoneRanges(), to: partition)
    }

    /// What was read of a topic and has no outcome is read again when the topic works.
    func readAgain(_ sender: TopicSender, in partition: PartitionState) {
        let topic = sender.topicHash
        guard let lag = partition.parking.lags[topic], lag.frontier.nextOffset != nil else { return }
        partitions[Int(lag.assignment)] = nil
        lag.phase = .revoking
        coalescing.forget(assignment: lag.assignment)
        if lastSource?.assignment == lag.assignment { lastSource = nil }
        for lane in sender.lanes { lane.machine.forget(assignment: lag.assignment) }
        let cursor = lag.cursor
        partition.parking.places.rewind(topic, to: cursor)
        addLag(of: topic, from: cursor, done: lag.frontier.doneRanges(), to: partition)
    }

    /// Lets go of lags that are done.
    func finishLags(of partition: PartitionState) {
        for (topic, lag) in partition.parking.lags.sorted(by: { $0.key < $1.key })
        where partition.parking.isDone(topic) {
            partition.parking.finish(topic)
            partitions[Int(lag.assignment)] = nil
            if lastSource?.assignment == lag.assignment { lastSource = nil }
            for sender in senders.senders { findDetours(of: sender) }
        }
    }

    /// Lets a topic's notifications go straight into their lanes, if they may.
    func findDetours(of sender: TopicSender) {
        sender.detours = !sender.breaker.isClosed || mayLag(sender.topicHash)
    }

    /// Whether anything of a topic may be parked.
    func mayLag(_ topic: UInt64) -> Bool {
        activePartitions.contains {
            $0.parking.lags[topic] != nil || $0.parking.lags[ParkedPartition.others] != nil
        }
    }
}
