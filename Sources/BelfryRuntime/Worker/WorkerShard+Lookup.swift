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
            guard case .needed = batch.lookup, batch.askAgainAt.map({ $0 <= now }) ?? true else { continue }
            guard let redis else {
                batch.lookup = .known
                continue
            }
            let questions = againQuestions(of: batch) ?? questions(of: batch, now: now)
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
        for batch in prepared { batch.askAgainAt = nil }
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

    /// What had no answer, so that a batch of more questions than the client takes at once gets ahead; and who was dead, for they
    /// may have registered meanwhile. Nil: nothing was asked yet.
    private func againQuestions(of batch: PreparedBatch) -> PreparedBatch.Questions? {
        guard var questions = batch.unanswered else { return nil }
        questions.tokens += batch.deaths.keys
        return questions
    }

    /// With a filter that is complete, only tokens that it holds are asked for.
    private func questions(of batch: PreparedBatch, now: MonotonicTime) -> PreparedBatch.Questions {
        var questions = PreparedBatch.Questions()
        if let filters, filters.isComplete(now: now) {
            questions.tokens = tokensThatMayBeDead(in: batch)
        } else {
            questions.tokens = Array(batch.notifications.indices)
        }
        questions.requests = batch.fingerprints.indices.filter { batch.fingerprints[$0] != nil }
        return questions
    }

    /// Indices of notifications.
    private func tokensThatMayBeDead(in batch: PreparedBatch) -> [Int] {
        var indices: [Int] = []
        let notifications = batch.notifications
        var start = 0
        while start < notifications.count {
            // Most batches are of one topic, and most topics have nobody refused.
            let topic = notifications[start].sender
            let end = notifications[start...].firstIndex { $0.sender != topic } ?? notifications.count
            let sender = senders.senders[Int(topic)]
            let deadTokens = sender.deadTokens?.contents ?? .everyToken
            let hasRefused = !sender.refusedTokens.isEmpty
            for first in stride(from: start, to: end, by: Self.probesAtOnce) {
                let part = first..<min(first + Self.probesAtOnce, end)
                withUnsafeTemporaryAllocation(of: TombstoneFilter.Contents.Probe.self, capacity: part.count) { probes in
                    for index in part {
                        let probe = deadTokens.probe(TombstoneFilter.hash(notifications[index].token))
                        probes.initializeElement(at: index - first, to: probe)
                    }
                    for index in part
                    where deadTokens.contains(probes[index - first])
                        || hasRefused && wasRefused(notifications[index])
                    {
                        indices.append(index)
                    }
                }
            }
            start = end
        }
        return indices
    }

    /// As many as fit on the stack.
    private static let probesAtOnce = 64

    /// It may have registered since the gateway refused it, which only Redis can tell.
    private func wasRefused(_ notification: PreparedNotification) -> Bool {
        senders.senders[Int(notification.sender)].refusedTokens
            .contains(notification.token, checksum: notification.checksum)
    }

    private func ask(_ redis: any RedisPipeline, _ questions: PreparedBatch.Questions, of batch: PreparedBatch) {
        batch.lookup = .asked(pendingReplies: questions.tokens.count + questions.requests.count)
        counters.lookUps += questions.tokens.count
        batch.unanswered = .init()
        batch.askAgainAt = nil
        batch.deaths = [:]
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
            switch result {
            case .success(let reply): if !reply.isNull { batch.repetitions.insert(index) }
            case .failure: batch.unanswered?.requests.append(index)
            }
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
        switch result {
        case .success(let value?):
            guard case .asked = batch.lookup else { break }
            if let reason = TokenRecord.reasonOfDeath(value) {
                batch.deaths[index] = reason
            } else {
                tokenLives(batch.notifications[index], value)
            }
        case .success(nil): break
        case .failure: batch.unanswered?.tokens.append(index)
        }
        answerArrived(result.map { _ in }, of: batch)
    }

    private func answerArrived(_ result: Result<Void, RedisError>, of batch: PreparedBatch) {
        switch result {
        case .success: noteAnswer()
        case .failure: redisPatience.failed(now: now)
        }
        guard case .asked(let pending) = batch.lookup else { return }
        if case .failure(let error) = result, batch.askAgainAt == nil {
            logger.warning("token state could not be read", metadata: ["error": "\(error)"])
            // Reading changes nothing, so it can simply be asked again; until then the batch waits, and with it its partitions.
            // Not at once: what was refused would be refused again, before the event loop has looked at its sockets.
            batch.askAgainAt = now + ShardLimits.retryInterval
        }
        guard pending == 1 else {
            batch.lookup = .asked(pendingReplies: pending - 1)
            return
        }
        guard batch.unanswered?.isEmpty ?? true else {
            batch.lookup = .needed
            return
        }
        batch.lookup = .known
        // Behind the reply's other completions, so that one turn serves them all.
        eventLoop.assumeIsolated().execute { [weak self] in self?.turn() }
    }
}
