import PipelineCore

@testable import KafkaClient

/// Invariants 3, 4 and 5: duplicates have a cause, order holds for each token, and the dead are left alone.
extension Auditor {
    func assigned(_ member: SimulatedConsumer, _ partition: Int32) {
        let committed = world.broker.committed[partition]
        let done = CommittedPosition(committed, options)
        owners[partition] = Ownership(member: member.number, since: now, done: done)
    }

    func released(_ member: SimulatedConsumer, _ partitions: [Int32]) {
        for partition in partitions where owners[partition]?.member == member.number { owners[partition] = nil }
    }

    /// A gateway took a notification.
    ///
    /// - Parameter isGivenUp: over a connection, or a stream, of which the worker expects nothing any more.
    func accepted(record: Int, token: Int, from worker: SimulatedWorker, isGivenUp: Bool, writtenAt: VirtualTime) {
        // Several: copies of one record, of which any may be the one that was sent.
        let numbers = numbers(record: record, token: token, in: worker.lane)
        guard let number = numbers.last else {
            return check(false, 1, "the gateway read a notification that was not published: \(record), \(token)")
        }
        world.note(.accepted, number, worker.number, "\(name(number)) accepted from \(worker.name)")
        let wasAccepted = notifications[number].accepted > 0
        for number in numbers {
            notifications[number].accepted += 1
            notifications[number].acceptedAt = now
        }
        acceptances[key(worker, World.place(ofToken: token).topic)] = now
        checkTime(of: number)
        let own = notifications[number].record
        guard let owner = owners[world.partition(ofRecord: own)], owner.member == worker.member,
            owner.since <= writtenAt, !isGivenUp
        else {
            // From a worker that has no right to it (any more), or over a connection whose fate it has given up.
            exempt(number)
            return
        }
        let objections = numbers.map { number in
            repetition(of: number, by: owner, writtenAt: writtenAt, worker: worker.number)
                ?? rememberedRequest(of: number)
        }
        check(objections.contains { $0 == nil }, 3, objections.compactMap { $0 }.last ?? "")
        checkDeath(of: numbers, token: token, owner)
        guard numbers.count == 1 else { return exempt(number) }
        if !wasAccepted { checkUrgency(of: number, writtenAt: writtenAt) }
        noteOrder(of: number, token: token, wasAccepted: wasAccepted)
    }

    /// Checks that the token was not known to be dead when the record was read: of several copies the one that was read
    /// first.
    private func checkDeath(of numbers: [Int], token: Int, _ owner: Ownership) {
        guard !options.sendsWithoutRedis else { return }
        var fetched = VirtualTime.max
        var taken = VirtualTime.max
        for number in numbers {
            let record = notifications[number].record
            guard let fetch = fetches[record], fetch.member == owner.member else { return }
            fetched = min(fetched, fetch.time)
            taken = min(taken, takenTime(of: record, fetch))
        }
        guard let number = numbers.last, !world.redis.wasBroken(token: token, since: fetched) else { return }
        check(
            !isKnownDead(token, at: taken),
            5,
            "\(name(number)) was sent, though its token was dead when the record was read"
        )
    }

    /// Checks that a done notification is not sent again. It was done when the worker got the partition, or the worker
    /// has settled it since.
    func checkRepetition(
        of number: Int,
        by owner: Ownership,
        writtenAt: VirtualTime,
        worker: Int
    ) {
        let objection = repetition(of: number, by: owner, writtenAt: writtenAt, worker: worker)
        check(objection == nil, 3, objection ?? "")
    }

    /// The reason why a notification must not be sent again; nil: it may.
    private func repetition(
        of number: Int,
        by owner: Ownership,
        writtenAt: VirtualTime,
        worker: Int
    ) -> String? {
        guard let offset = world.offset(ofRecord: notifications[number].record) else { return nil }
        // An answer that comes late, after the commit, is followed by resends; in between the group may have moved.
        guard options.isPunctual else { return nil }
        if isBehind(owner.done, number, at: offset) {
            return "\(name(number)) was sent again, though it was committed as done before"
        }
        // A producer that broke for good may have stored what its successor stores again.
        guard let settled = notifications[number].outcomeAt, !world.hasBrokenProducers else { return nil }
        let wasSettledHere =
            notifications[number].outcomeBy == worker && owner.since <= notifications[number].decidedAt
            && settled < writtenAt
        return wasSettledHere ? "\(name(number)) was sent again by the worker that had settled it" : nil
    }

    /// A committed position covers a notification of a record at an offset.
    func isBehind(_ position: CommittedPosition?, _ number: Int, at offset: Int64) -> Bool {
        let record = notifications[number].record
        let topic = world.topic(of: record)
        return position?.covers(offset, token: number - firstOf[record], topic: topic) ?? false
    }

    func noteOrder(of number: Int, token: Int, wasAccepted: Bool) {
        let key = world.records[notifications[number].record].coalescingKey
        let sequence = sequence(of: number)
        let newest = sequences[token][sequence].newest
        let isOlder = newest >= 0 && rank(of: number) < rank(of: newest)
        // It was passed unread, and is read after all: because the partition has moved, or was set back. Or it was to
        // be moved, and could not be.
        if isOlder, isReplacement(number) || moves.overQuota.contains(notifications[number].record) { exempt(number) }
        // One with an outcome, or that was left out or given up before, is sent again because that was not committed.
        // No outcome may have said that one with a coalescing key was superseded, and none is published for a summary.
        let isFirst =
            !wasAccepted && notifications[number].outcomeAt == nil && !wasLeftOut(number) && !asksForSummary(number)
            && !mayBeGivenUp(number) && !mayHaveBeenDuplicate(number)
        if isAcceptanceKnown, !isExempt(number), isFirst, key == 0 {
            check(
                !isOlder,
                4,
                "\(name(number)) was first accepted after record \(notifications[max(0, newest)].record)"
            )
        }
        sequences[token][sequence].last = number
        sequences[token][sequence].newest = isOlder ? newest : number
        let stamped = sequences[token][sequence].newestStamped
        if stamped < 0 || isNewer(number, than: stamped) { sequences[token][sequence].newestStamped = number }
    }

    /// A worker may have settled a notification without the gateway's acceptance: it was refused, or it was read while
    /// its token was dead, and is read again now that the token has registered.
    private func wasLeftOut(_ number: Int) -> Bool {
        let entry = notifications[number]
        guard !entry.wasRefused else { return true }
        guard let first = firstFetches[entry.record], let latest = fetches[entry.record]?.time else { return false }
        return first < latest && first < tokens[entry.token].aliveSince
    }

    /// No notification that was not accepted is taken for accepted. Where one may be, it may be met again after newer
    /// ones, or be left out when what is older is sent again.
    var isAcceptanceKnown: Bool { options.policy == .resend && options.isPunctual }

    func closeOrder() {
        // Set back by hand, what was superseded is sent, and what superseded it is remembered.
        let isSetBack = world.hasPositionsByHand || world.broker.cut?.isMended == true
        guard isAcceptanceKnown, options.dedupeWindow == 0 || !isSetBack else { return }
        // A lost outcome keeps an older notification open while a newer one is done. After a crash only the older goes
        // again.
        guard !world.hasBrokenProducers else { return }
        let committed = world.broker.partitions.indices.map { partition in
            CommittedPosition(world.broker.committed[Int32(partition)], options)
        }
        for ordinal in tokens.indices {
            for sequence in sequences[ordinal] where sequence.newest >= 0 && !isExempt(sequence.newest) {
                // A sick topic's backlog may be on its way once more when the world ends, and retention may have taken
                // some.
                guard !isSick(sequence.newest), !isDeleted(sequence.newest) else { continue }
                // So may one that the next owner has moved instead of sending it again.
                guard !isMoved(sequence.newest) else { continue }
                // So may a notification that no stored position says is done, once its partition has moved.
                let partition = Int(world.partition(ofRecord: notifications[sequence.newest].record))
                guard !isOpen(sequence.newest, committed[partition]) else { continue }
                // Left out, it was as good as done when the newer one was; only its outcome was not there yet.
                guard !wasLeftOut(sequence.last) else { continue }
                guard !mayBeDuplicate(sequence.newest) else { continue }
                // Requests that waited together went by their stamps, others by their offsets.
                check(
                    sequence.last == sequence.newest || sequence.last == sequence.newestStamped,
                    4,
                    "token \(ordinal): the last accepted is \(name(sequence.last)), the newest \(name(sequence.newest))"
                )
            }
        }
    }

    /// Its request was published before, or in another lane. Where that goes once more after a crash, this one is left
    /// out, and no outcome says so.
    private func mayBeDuplicate(_ number: Int) -> Bool {
        guard options.dedupeWindow > 0, !options.publishesAll else { return false }
        return siblings(of: number).contains { rank(of: $0) < rank(of: number) } || isRepeatedInOtherLane(number)
    }

    /// A committed position does not say that it is done: the next owner sends it again, behind older ones.
    private func isOpen(_ number: Int, _ position: CommittedPosition?) -> Bool {
        guard let position, let offset = world.offset(ofRecord: notifications[number].record) else { return false }
        return !isBehind(position, number, at: offset)
    }

    /// The gateway refused a notification to a token.
    ///
    /// - Parameter isDated: it has named the time of the token's death.
    func refused(record: Int, token: Int, isDated: Bool = false) {
        refusedForGood(record: record, token: token)
        refusalRead(token: token, isDated: isDated)
        noteDoubtful(token)
    }

    /// The gateway refused a notification for good, or may have; its token is innocent.
    func refusedForGood(record: Int, token: Int) {
        for number in twins(record: record, token: token) { notifications[number].wasRefused = true }
    }

    /// The gateway closed a connection without a word on a notification, or ended its stream so, or left it without an
    /// answer. A worker to which it happens too often gives the notification up.
    func leftUnanswered(record: Int, token: Int) {
        for number in twins(record: record, token: token) {
            notifications[number].unanswered += 1
            if notifications[number].unanswered >= World.loneCloses { notifications[number].wasRefused = true }
        }
    }

    /// A worker has read that the gateway refused a token: to the worker that is its death, unless it is dated.
    func refusalRead(token: Int, isDated: Bool = false) {
        tokens[token].refusedAt = now
        if !isDated { tokens[token].calledInvalidAt = now }
    }

    func registered(_ key: [UInt8]) {
        guard let token = world.tokens.byKey[key] else { return }
        // One that was refused may be dead to a worker before it has a tombstone.
        if tokens[token].refusedAt > 0 { tokens[token].aliveSince = now }
        tokens[token].deadSince = nil
        tokens[token].publishedAt = nil
    }

    /// A dead token's tombstone is in push.tombstones.
    ///
    /// - Parameter seconds: UNIX seconds of its death. That of a former death tells nothing.
    func tombstonePublished(_ bytes: [UInt8], at seconds: UInt32) {
        let token = bytes.withUnsafeBytes { World.token($0) }
        guard tokens[token].deadSince != nil, tokens[token].publishedAt == nil,
            tokens[token].aliveSince == 0 || World.unixSeconds(tokens[token].aliveSince) < seconds
        else { return }
        tokens[token].publishedAt = now
    }

    /// A worker that looked a token up at a time knew that it is dead now: from Redis, or as soon as filters must have
    /// its tombstone.
    func isKnownDead(_ token: Int, at time: VirtualTime) -> Bool {
        guard let dead = tokens[token].deadSince else { return false }
        guard options.filterMaxAge > 0 else { return dead < time }
        // A worker that is killed between the two writes tells Redis only.
        guard let published = tokens[token].publishedAt else { return false }
        return published + options.filterMaxAge < time
    }

    /// A worker's tombstone comes to Redis. It would outweigh registrations until its time.
    ///
    /// The earlier of the worker's clock and Redis' dates it: only where both are ahead its time may be.
    ///
    /// - Parameter seconds: UNIX seconds.
    func dated(_ seconds: UInt32, by worker: SimulatedWorker) {
        let earlier = min(worker.process.unixSeconds, world.redis.unixSeconds)
        let limit = max(earlier, Int64(World.unixSeconds(now)))
        check(Int64(seconds) <= limit, 5, "a tombstone by \(worker.name) lies ahead")
    }

    /// A worker's tombstone is in Redis.
    func tombstoned(_ key: [UInt8], by worker: SimulatedWorker) {
        guard let token = world.tokens.byKey[key] else { return check(false, 5, "a tombstone for a token of nobody") }
        world.note(.tombstone, token, worker.number, "tombstone of token \(token) by \(worker.name)")
        if tokens[token].deadSince == nil { tokens[token].deadSince = now }
        check(tokens[token].refusedAt > 0, 5, "token \(token) got a tombstone, but the gateway never refused it")
        checkDoubt(token, worker)
    }
}
