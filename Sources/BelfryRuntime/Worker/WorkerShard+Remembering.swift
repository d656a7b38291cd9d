import APNsProtocol
import NIOCore
import PipelineCore
import RedisClient

/// Requests that arrived at their tokens, on their way into Redis' memory of them.
final class Remembrance {
    struct Entry {
        var fingerprint: RequestFingerprint
        /// CRC-32 of the token.
        var checksum: UInt32
        var reference: NotificationReference
    }

    /// Whose they are.
    let sender: TopicSender
    /// What the notifications end as.
    let outcome: OutcomeKind
    var entries: [Entry] = []
    /// Entries that Redis has not answered for.
    var pending = 0
    /// What it said of one that it did not take.
    var failure: RedisError?

    init(_ sender: TopicSender, _ outcome: OutcomeKind) {
        self.sender = sender
        self.outcome = outcome
    }
}

/// Between settling and publishing, while requests are remembered: Redis takes note that a request arrived, and only then is
/// its notification done. So whoever consumes it again, after a crash or because it was published again, finds it there.
extension WorkerShard {
    /// Notifications were accepted: confirmed, or presumed to be.
    func remember(_ range: Range<UInt64>, of lane: GatewayLane, _ outcome: OutcomeKind) {
        let sender = senders.senders[Int(lane.sender)]
        var note = Remembrance(sender, outcome)
        for sequence in range {
            let entry = lane.machine.log.entry(at: sequence)
            guard !entry.isDropped, let partition = partitions[Int(entry.reference.assignment)] else { continue }
            // Settled before: the first word stands.
            guard !partition.frontier.isDone(entry.reference.record, token: entry.reference.token) else { continue }
            guard let key = partition.requestKeys[entry.reference.record] else {
                settle(entry.reference, outcome)
                continue
            }
            let token = NotificationFrame.command2Token(in: lane.machine.log.frame(at: sequence))
            note.entries.append(
                .init(
                    fingerprint: RequestFingerprint(token: token, key: key),
                    checksum: entry.checksum,
                    reference: entry.reference
                )
            )
            partition.unacknowledged += 1
            if note.entries.count == settings.batchRecords {
                write(note)
                note = Remembrance(sender, outcome)
            }
        }
        if !note.entries.isEmpty { write(note) }
    }

    private func write(_ note: Remembrance) {
        guard let redis, !isStopped else { return }
        // Sending has gone on without Redis for a while, and so must settling.
        guard !redisPatience.isAway else { return settle(note) }
        let key = note.sender.requestKey
        let milliseconds = Int(settings.dedupeWindow.wholeNanoseconds / 1_000_000)
        note.pending = note.entries.count
        note.failure = nil
        for entry in note.entries {
            redis.send(slot: note.sender.tokens.keys.slot(checksum: entry.checksum)) { writer in
                writer.command("SET", argumentCount: 4)
                writer.argument(byteCount: key.count) {
                    key.write(entry.fingerprint, checksum: entry.checksum, into: $0)
                }
                writer.argument("1")
                writer.argument("PX")
                writer.argument(milliseconds)
            } _: { [weak self] result in
                if case .failure(let error) = result { note.failure = error }
                note.pending -= 1
                if note.pending == 0 { self?.written(note) }
            }
        }
    }

    private func written(_ note: Remembrance) {
        guard !isStopped else { return }
        if let error = note.failure {
            logger.warning("request ids could not be remembered", metadata: ["error": "\(error)"])
            // It may run twice; the offsets wait for it.
            eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in
                self?.write(note)
            }
        } else {
            settle(note)
        }
    }

    private func settle(_ note: Remembrance) {
        for entry in note.entries {
            requestsUnderWay.remembered(entry.fingerprint, through: batchesTakenIn)
            partitions[Int(entry.reference.assignment)]?.unacknowledged -= 1
            settle(entry.reference, note.outcome)
        }
    }
}
