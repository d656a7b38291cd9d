import NIOCore
import PipelineCore
import RedisClient

/// Second stage: what Redis knows of each token, and of each request to it, asked for in one go while the batch before is
/// encoded.
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
            let questions = questions(of: batch, now: now)
            guard !questions.isEmpty else {
                batch.lookup = .known
                continue
            }
            if batch.lookupDue == nil { batch.lookupDue = now }
            switch redisPatience.decide(now: now) {
            case .ask:
                ask(redis, questions, of: batch)
            case .probe:
                ask(redis, questions, of: batch)
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

    /// What of a batch only Redis can tell.
    private struct Questions {
        /// Indices of notifications whose token may be dead.
        var tokens: [Int] = []
        /// Indices of those with a request id.
        var requests: [Int] = []

        var isEmpty: Bool { tokens.isEmpty && requests.isEmpty }
    }

    /// With a filter that is complete, only tokens that it holds are asked for.
    private func questions(of batch: PreparedBatch, now: MonotonicTime) -> Questions {
        var questions = Questions()
        if let filters, filters.isComplete(now: now) {
            questions.tokens = tokensThatMayBeDead(in: batch)
        } else {
            questions.tokens = Array(batch.notifications.indices)
        }
        questions.requests = batch.fingerprints.indices.filter { batch.fingerprints[$0] != nil }
        counters.lookUps += questions.tokens.count
        return questions
    }

    /// Indices of notifications.
    private func tokensThatMayBeDead(in batch: PreparedBatch) -> [Int] {
        var indices: [Int] = []
        // Most batches are of one topic, and most topics have nobody refused.
        var topic: Int32?
        var deadTokens = TombstoneFilter.Contents.everyToken
        var hasRefused = false
        for (index, notification) in batch.notifications.enumerated() {
            if notification.sender != topic {
                topic = notification.sender
                let sender = senders.senders[Int(notification.sender)]
                deadTokens = sender.deadTokens?.contents ?? .everyToken
                hasRefused = !sender.refusedTokens.isEmpty
            }
            if deadTokens.contains(TombstoneFilter.hash(notification.token)) || hasRefused && wasRefused(notification) {
                indices.append(index)
            }
        }
        return indices
    }

    /// It may have registered since the gateway refused it, which only Redis can tell.
    private func wasRefused(_ notification: PreparedNotification) -> Bool {
        senders.senders[Int(notification.sender)].refusedTokens
            .contains(notification.token, checksum: notification.checksum)
    }

    private func ask(_ redis: any RedisPipeline, _ questions: Questions, of batch: PreparedBatch) {
        batch.lookup = .asked(pendingReplies: questions.tokens.count + questions.requests.count)
        batch.lookupFailed = false
        batch.deaths = [:]
        batch.repetitions = []
        for index in questions.tokens {
            let notification = batch.notifications[index]
            let sender = senders.senders[Int(notification.sender)]
            // The batch, which keeps the token's bytes, lives until the answer.
            tokens?.look(up: notification.token, checksum: notification.checksum, in: sender.tokens) {
                [weak self] result in
                self?.tokenStateArrived(result, of: batch, index)
            }
        }
        for index in questions.requests { askForRepetition(redis, of: batch, index) }
    }

    private func askForRepetition(_ redis: any RedisPipeline, of batch: PreparedBatch, _ index: Int) {
        guard let fingerprint = batch.fingerprints[index] else { return }
        let notification = batch.notifications[index]
        let sender = senders.senders[Int(notification.sender)]
        let key = sender.requestKey
        redis.send(slot: sender.tokens.keys.slot(checksum: notification.checksum)) { writer in
            writer.command("GET", argumentCount: 1)
            writer.argument(byteCount: key.count) { room in
                key.write(fingerprint, checksum: notification.checksum, into: room)
            }
        } _: { [weak self] result in
            if case .success(let reply) = result, !reply.isNull { batch.repetitions.insert(index) }
            self?.answerArrived(result.map { _ in }, of: batch)
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
        _ result: Result<UnsafeRawBufferPointer?, RedisError>,
        of batch: PreparedBatch,
        _ index: Int
    ) {
        if case .success(let value?) = result, case .asked = batch.lookup {
            if let reason = TokenRecord.reasonOfDeath(value) {
                batch.deaths[index] = reason
            } else {
                tokenLives(batch.notifications[index], value)
            }
        }
        answerArrived(result.map { _ in }, of: batch)
    }

    private func answerArrived(_ result: Result<Void, RedisError>, of batch: PreparedBatch) {
        switch result {
        case .success: noteAnswer()
        case .failure: redisPatience.failed(now: now)
        }
        guard case .asked(let pending) = batch.lookup else { return }
        if case .failure(let error) = result {
            // Reading changes nothing, so it can simply be asked again; until then the batch waits, and with it its
            // partitions.
            if !batch.lookupFailed {
                logger.warning("token state could not be read", metadata: ["error": "\(error)"])
            }
            batch.lookupFailed = true
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
