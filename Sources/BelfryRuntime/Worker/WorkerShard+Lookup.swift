import NIOCore
import PipelineCore
import RedisClient

/// Second stage: what Redis knows of each token, and of each request to it, asked for in few commands while the batch before
/// is encoded.
extension WorkerShard {
    /// Asks for the token state of every batch that needs it.
    func requestTokenState() {
        let now = now
        for batch in prepared {
            guard case .needed = batch.lookup else { continue }
            guard let redis else {
                batch.lookup = .known
                continue
            }
            if batch.lookupDue == nil { batch.lookupDue = now }
            switch redisPatience.decide(now: now) {
            case .ask:
                ask(redis, for: batch)
            case .probe:
                ask(redis, for: batch)
                goOn(without: batch)
            case .goOn:
                goOn(without: batch)
            }
        }
    }

    /// A connection to Redis came up, which it does with an answer.
    func redisConnected() {
        noteAnswer()
        requestTokenState()
    }

    private func noteAnswer() {
        if redisPatience.answered() { logger.notice("Redis is back; tokens are looked up again") }
    }

    /// Lets batches go that have waited for long enough.
    func endLateLookups(now: MonotonicTime) {
        for batch in prepared {
            if case .known = batch.lookup { continue }
            guard let due = batch.lookupDue else { continue }
            let wasAway = redisPatience.isAway
            guard redisPatience.isOver(since: due, now: now) else { continue }
            goOn(without: batch)
            if !wasAway { logger.error("Redis is away; notifications are sent without token state") }
        }
    }

    /// What part of the answer came is used, what comes later is not.
    private func goOn(without batch: PreparedBatch) {
        batch.isWithoutState = true
        batch.lookup = .known
    }

    private func ask(_ redis: any RedisPipeline, for batch: PreparedBatch) {
        let total = batch.notifications.count
        let commands = (total + settings.batchRecords - 1) / settings.batchRecords
        batch.lookup = .asked(pendingReplies: commands)
        batch.lookupFailed = false
        batch.deaths = [:]
        batch.repetitions = []
        for start in stride(from: 0, to: total, by: settings.batchRecords) {
            let range = start..<min(total, start + settings.batchRecords)
            // The indices of those with a request id: their second keys follow the first keys of all.
            let identified = batch.fingerprints.isEmpty ? [] : range.filter { batch.fingerprints[$0] != nil }
            redis.send { writer in
                writer.command("MGET", argumentCount: range.count + identified.count)
                for index in range {
                    let notification = batch.notifications[index]
                    let key = senders.senders[Int(notification.sender)].tokenKey
                    writer.argument(byteCount: key.count(tokenBytes: notification.token.count)) { room in
                        key.write(token: notification.token, checksum: notification.checksum, into: room)
                    }
                }
                for index in identified {
                    guard let fingerprint = batch.fingerprints[index] else { continue }
                    let notification = batch.notifications[index]
                    let key = senders.senders[Int(notification.sender)].dedupeKey
                    writer.argument(byteCount: key.count) { room in
                        key.write(fingerprint, checksum: notification.checksum, into: room)
                    }
                }
            } _: { [weak self] result in
                self?.tokenStateArrived(result, of: batch, range: range, identified)
            }
        }
    }

    /// A look-up shows that a token registered and has no tombstone since: if the gateway refused it before that, it is sent
    /// to again.
    private func tokenLives(_ notification: PreparedNotification, _ value: UnsafeRawBufferPointer) {
        let sender = senders.senders[Int(notification.sender)]
        guard !sender.refusedTokens.isEmpty, let registeredAt = TokenRecord.registeredAt(value) else { return }
        sender.refusedTokens.registered(notification.token, checksum: notification.checksum, at: registeredAt)
    }

    private func tokenStateArrived(
        _ result: Result<RedisReply, RedisError>,
        of batch: PreparedBatch,
        range: Range<Int>,
        _ identified: [Int]
    ) {
        switch result {
        case .success:
            noteAnswer()
        case .failure:
            redisPatience.failed(now: now)
        }
        guard case .asked(let pending) = batch.lookup else { return }
        switch result {
        case .success(let reply) where reply.count == range.count + identified.count:
            for position in 0..<range.count {
                let value = reply[position]
                guard !value.isNull else { continue }
                if let reason = TokenRecord.reasonOfDeath(value.bytes) {
                    batch.deaths[range.lowerBound + position] = reason
                } else {
                    tokenLives(batch.notifications[range.lowerBound + position], value.bytes)
                }
            }
            for (position, index) in identified.enumerated() where !reply[range.count + position].isNull {
                batch.repetitions.insert(index)
            }
        case .success, .failure:
            // Reading changes nothing, so it can simply be asked again; until then the batch waits, and with it its
            // partitions.
            batch.lookupFailed = true
            logger.warning("token state could not be read", metadata: ["result": "\(result)"])
        }
        guard pending == 1 else {
            batch.lookup = .asked(pendingReplies: pending - 1)
            return
        }
        batch.lookup = batch.lookupFailed ? .needed : .known
        // Behind the reply's other completions, so that one turn serves them all.
        eventLoop.assumeIsolated().execute { [weak self] in self?.turn() }
    }
}
