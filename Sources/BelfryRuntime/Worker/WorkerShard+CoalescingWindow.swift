import NIOCore
import PipelineCore
import RedisClient

/// Windows of coalescing: Redis knows when each was opened and what was sent last, so that they hold across restarts and
/// rebalances. Without token state, and while Redis is away where sending goes on without it, a window is this shard's own.
extension WorkerShard {
    /// A question to Redis about the window of a token and coalescing key.
    private struct Question {
        enum Purpose {
            /// When the window of a group ends.
            case open(group: UInt64)
            /// Whether a request is sent, now that its window is over.
            case end(ticket: UInt64)
        }

        var purpose: Purpose
        var subject: Coalescer.Subject
        var stamp: Coalescer.Stamp
        /// CRC-32 of the token.
        var checksum: UInt32
        var askedAt: MonotonicTime
    }

    /// A group's first request has come: finds out when its window ends.
    func openWindow(of group: UInt64, with ticket: UInt64) {
        ask(.open(group: group), ticket)
    }

    /// A window is over, and it is known which request would be sent.
    func endWindow(with due: Coalescer.Due) {
        ask(.end(ticket: due.ticket), due.ticket)
    }

    private func ask(_ purpose: Question.Purpose, _ ticket: UInt64) {
        guard let waiting = coalescing[ticket] else { return }
        ask(
            .init(
                purpose: purpose,
                subject: subject(of: waiting),
                stamp: waiting.coalescible.stamp,
                checksum: waiting.notification.checksum,
                askedAt: now
            )
        )
    }

    private func ask(_ question: Question) {
        guard !isStopped, isOpen(question) else { return }
        guard let redis, !mayGoOnWithoutRedis(since: question.askedAt) else { return goOn(question) }
        let sender = senders.senders[Int(question.subject.topic)]
        let key = sender.windowKey
        let slot = sender.tokens.keys.slot(checksum: question.checksum)
        redis.evaluate(CoalesceScript.coalesce, slot: slot, keyCount: 1, argumentCount: 5) { writer in
            writer.argument(byteCount: key.count) {
                key.write(question.subject.fingerprint, checksum: question.checksum, into: $0)
            }
            writer.argument(Int(settings.unixMilliseconds()))
            writer.argument(Int(sender.coalescingWindow.wholeNanoseconds / 1_000_000))
            writer.argument(Int(min(question.stamp.milliseconds, CoalesceScript.largestNumber)))
            writer.argument(Int(min(question.stamp.offset, CoalesceScript.largestNumber)))
            if case .end = question.purpose { writer.argument(1) } else { writer.argument(0) }
        } _: { [weak self] result in
            self?.answered(question, result)
        }
    }

    /// Whether anybody waits for the answer: a group whose partition is given back does not.
    private func isOpen(_ question: Question) -> Bool {
        switch question.purpose {
        case .open(let group): coalescing.machine.waits(group)
        case .end(let ticket): coalescing[ticket] != nil
        }
    }

    private func answered(_ question: Question, _ result: Result<RedisReply, RedisError>) {
        guard !isStopped else { return }
        switch result {
        case .success(let reply):
            coalescing.isUnanswered = false
            decide(question, reply.integer ?? 0)
            eventLoop.assumeIsolated().execute { [weak self] in self?.turn() }
        case .failure(let error):
            // Thousands may wait for their windows.
            if !coalescing.isUnanswered {
                logger.warning("coalescing windows cannot be read", metadata: ["error": "\(error)"])
            }
            coalescing.isUnanswered = true
            // It may run twice; the offset waits for it.
            eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in
                self?.ask(question)
            }
        }
    }

    /// Redis has answered, see ``CoalesceScript``.
    private func decide(_ question: Question, _ milliseconds: Int64) {
        let end = now + .milliseconds(max(0, milliseconds))
        switch question.purpose {
        case .open(let group):
            coalescing.machine.windowEnds(group, at: end)
        case .end(let ticket):
            if milliseconds == 0 {
                release(ticket)
                closeCopy()
            } else if milliseconds < 0 {
                endWaiting(of: ticket, .superseded)
            } else {
                // Another shard has sent in this window, or clocks differ.
                waitOn(ticket, .ends(end))
            }
        }
    }

    /// Goes on without Redis: a window begins now, or is over.
    private func goOn(_ question: Question) {
        switch question.purpose {
        case .open(let group):
            let sender = senders.senders[Int(question.subject.topic)]
            coalescing.machine.windowEnds(group, at: now + sender.coalescingWindow)
        case .end(let ticket):
            release(ticket)
            closeCopy()
        }
    }

    /// Whether Redis is away, and sending goes on without it.
    private func mayGoOnWithoutRedis(since asked: MonotonicTime) -> Bool {
        guard let patience = settings.redisPatience else { return false }
        return redisPatience.isAway || asked + patience <= now
    }
}
