import PipelineCore
import PushSchemas
import SwiftProtobuf

@testable import KafkaClient

/// Invariants 1 and 2: nothing is lost, and accepted means what it says.
extension Auditor {
    /// A record is in a worker's hands.
    func fetched(_ record: Int, by member: SimulatedConsumer) {
        fetches[record] = (member.number, now)
        firstFetches[record] = firstFetches[record] ?? now
        fetchTimes[[record, member.number]] = now
        noteTaking(record, by: member)
        noteReading(record, by: member)
        noteFeeding(record, by: member)
    }

    /// A record is read by a worker that catches up, be it for another topic.
    func fetchedAgain(_ record: Int, by member: SimulatedConsumer) {
        noteReading(record, by: member)
        noteFeeding(record, by: member)
        guard fetches[record]?.member != member.number else { return }
        // Another member may have had it meanwhile, while this one has it still.
        guard let time = fetchTimes[[record, member.number]] else { return fetched(record, by: member) }
        fetches[record] = (member.number, time)
    }

    /// An outcome is stored.
    ///
    /// - Parameters:
    ///   - time: when the worker gave it.
    ///   - headers: nil: they are not looked at.
    func stored(
        _ outcome: PushOutcome,
        by worker: Int,
        producedAt time: VirtualTime,
        headers: [(String, [UInt8])]? = nil
    ) {
        let place = KafkaTopicPartition(topic: outcome.sourceTopic, partition: outcome.sourcePartition)
        let meant = world.laneMap.number(of: place).flatMap { partition in
            recordMeant(at: outcome.sourceOffset, of: partition, by: worker) { entry in
                World.requestID(entry.ordinal, world.records[entry.ordinal]) == outcome.requestID
            }
        }
        guard let record = meant?.ordinal, Int(outcome.tokenIndex) < tokenCount(of: record) else {
            return check(false, 1, "an outcome names \(place)@\(outcome.sourceOffset)")
        }
        if let headers { checkOrigin(of: record, in: outcome, headers) }
        guard outcome.kind != .summary else {
            return storedSummary(outcome, of: record, by: worker, producedAt: time)
        }
        guard Int(outcome.tokenIndex) < world.records[record].tokens.count else {
            return storedBad(outcome, of: record)
        }
        let number = firstOf[record] + Int(outcome.tokenIndex)
        world.note(.outcome, number, outcome.kind.rawValue, "\(outcome.kind) of \(name(number)) \(outcome.reason)")
        judge(outcome, number, by: worker, producedAt: time)
        noteFate(outcome, of: number)
        guard notifications[number].outcomeAt == nil else { return }
        notifications[number].outcomeAt = now
        notifications[number].outcomeBy = worker
        notifications[number].decidedAt = time
        notifications[number].hasArrived = OutcomeKind(outcome.kind)?.isAcceptance == true
        if !isMoved(number) { open -= 1 }
    }

    private func judge(_ outcome: PushOutcome, _ number: Int, by worker: Int, producedAt time: VirtualTime) {
        let isAccepted = notifications[number].accepted > 0
        switch outcome.kind {
        case .confirmed:
            check(isAccepted, 2, "\(name(number)) is confirmed, but no gateway has accepted it")
        case .presumed:
            check(
                !isOverStreams(number) || options.policy == .presume,
                2,
                "\(name(number)) is presumed, though every request over HTTP/2 is answered"
            )
            if options.policy != .resend { exempt(number) }
            guard options.isPunctual, options.policy == .resend else { return }
            check(isAccepted, 2, "\(name(number)) is presumed wrongly, though the gateway is punctual")
        case .tombstoned:
            checkSilence(of: number, by: worker, decidedAt: time)
        case .superseded:
            check(mayBeSuperseded(number), 1, "\(name(number)) is superseded, but nothing newer was published")
        case .expired:
            let record = world.records[notifications[number].record]
            let isOver = record.expires > 0 && World.expiration(of: record) < World.unixSeconds(now)
            check(isOver || world.hasClockJumps, 1, "\(name(number)) has expired before its time")
        case .duplicate:
            // Superseded requests are remembered, too.
            let mayBeKnown = isAccepted || isRepeated(number) || mayBeSuperseded(number) || hasTwinArrived(number)
            check(
                mayBeKnown || isTwinUnderWay(number, by: worker, at: time) || !isAcceptanceKnown,
                1,
                "\(name(number)) is a duplicate, but its request was neither accepted, published twice nor superseded"
            )
        case .aborted: checkAborted(number)
        case .rejected where outcome.reason == "TopicDisallowed": checkTopicRejection(of: number, by: worker)
        case .deadLettered where outcome.reason == "bundle-without-certificate":
            checkGivenUp(number, at: time)
        case .unknown:
            check(options.policy == .giveUp, 2, "\(name(number)) is given up against the policy")
            exempt(number)
        default:
            break
        }
        // A notification accepted once may be refused or left out when sent again: the older one may be the last.
        let isAcceptance = OutcomeKind(outcome.kind)?.isAcceptance == true
        if isAccepted, !isAcceptance { exempt(number) }
    }

    /// A newer notification of its token and coalescing key was published in its lane.
    func mayBeSuperseded(_ number: Int) -> Bool {
        guard world.records[notifications[number].record].coalescingKey > 0 else { return false }
        return published[[notifications[number].token, sequence(of: number)], default: []].contains { other in
            isNewer(other, than: number) || isAsNew(other, as: number)
        }
    }

    /// Two records of one token in different partitions of a lane, from the same millisecond: either may be taken for
    /// the newer.
    private func isAsNew(_ number: Int, as other: Int) -> Bool {
        let (record, otherRecord) = (notifications[number].record, notifications[other].record)
        return world.partition(ofRecord: record) != world.partition(ofRecord: otherRecord)
            && World.unixMilliseconds(of: world.records[record])
                == World.unixMilliseconds(of: world.records[otherRecord])
    }

    /// One notification of a token and coalescing key may supersede another of its lane.
    func isNewer(_ number: Int, than other: Int) -> Bool {
        let stamps = [number, other].map { number in
            (World.unixMilliseconds(of: world.records[notifications[number].record]), rank(of: number))
        }
        return stamps[0] > stamps[1]
    }

    /// A record was published.
    func published(_ record: Int) {
        noteRank(ofPublished: record)
        guard world.records[record].coalescingKey > 0 else { return }
        for number in firstOf[record]..<end(of: record) {
            published[[notifications[number].token, sequence(of: number)], default: []].append(number)
        }
    }

    /// A token that lives is not called dead.
    private func checkSilence(of number: Int, by worker: Int, decidedAt time: VirtualTime) {
        let entry = notifications[number]
        let token = tokens[entry.token]
        // The worker may have stood still since, while another one read the record.
        guard let fetchedAt = fetchTimes[[entry.record, worker]], !world.hasClockJumps, !options.sendsWithoutRedis,
            !world.redis.wasBroken(token: entry.token, since: fetchedAt)
        else { return }
        // Decided before it was read again.
        guard fetchedAt <= time else { return }
        let wasCalledInvalid = token.calledInvalidAt.map { token.aliveSince <= $0 } ?? false
        check(
            token.deadSince != nil || fetchedAt < token.aliveSince || wasCalledInvalid,
            5,
            "\(name(number)) is not sent, though its token registered before the record was read, and since it died"
        )
    }

    /// A worker committed a position: everything it covers has its outcome, or was accepted where only failures are
    /// published.
    ///
    /// - Parameter own: the position before an owner of the former version wrote all that it refuses as one class.
    func committed(
        _ position: KafkaPartitionOffset,
        meaning own: KafkaPartitionOffset,
        after former: SimulatedBroker.Committed? = nil,
        by member: SimulatedConsumer
    ) {
        guard let partition = world.laneMap.number(of: position.place) else {
            return check(false, 3, "\(member.name) has committed \(position), which is of no lane")
        }
        let raw = SimulatedBroker.Committed(offset: position.offset, metadata: position.metadata)
        let rawOwn = SimulatedBroker.Committed(offset: own.offset, metadata: own.metadata)
        guard let committed = CommittedPosition(raw, options), let meant = CommittedPosition(rawOwn, options) else {
            return check(false, 1, "\(partition)@\(position.offset) is committed with metadata that cannot be read")
        }
        check(position.metadata.utf8.count <= 4096, 3, "commit metadata of \(position.metadata.utf8.count) bytes")
        check(
            former?.metadata != CommittedPosition.unknownMetadata || !holds(.unknownMetadata),
            1,
            "\(member.name) has committed \(partition) over metadata that it cannot read"
        )
        check(
            // One that was sent in time may come when the partition was given back, and no member has it yet.
            !holds(.ownCommits) || owners[partition].map { $0.member == member.number } ?? true,
            3,
            "\(member.name) has committed \(partition), which it does not have"
        )
        checkProgress(meant, of: partition, by: member)
        let stored = world.broker.partitions[Int(partition)]
        var place = auditedEnd[partition] ?? 0
        var isWhole = true
        while place < stored.count {
            let record = stored[place].ordinal
            let offset = stored[place].record.offset
            let topic = world.topic(of: record)
            let isBehind = committed.isWhollyBehind(offset, topic: topic)
            for number in firstOf[record]..<end(of: record) {
                if isBehind || committed.covers(offset, token: number - firstOf[record], topic: topic) {
                    checkDone(number, offset < committed.offset ? "committed" : "marked as done")
                } else {
                    isWhole = false
                }
            }
            if world.records[record].badTokens > 0, !checkBadTokens(of: stored[place], committed, topic) {
                isWhole = false
            }
            if isWhole { auditedEnd[partition] = place + 1 }
            place += 1
        }
    }

    /// Every topic of a partition is done below the committed offset.
    func hasNoLaggard(_ partition: Int32) -> Bool {
        CommittedPosition(world.broker.committed[partition], options)?.hasNoLaggard ?? false
    }

    private func checkDone(_ number: Int, _ word: String) {
        let entry = notifications[number]
        if entry.outcomeAt != nil || isMoved(number) || isExcused(number) || mayBeUnread(number) { return }
        guard !options.publishesAll else {
            return check(false, 1, "\(name(number)) is \(word), but its outcome is not stored")
        }
        // Presumed by policy, or where a gateway withholds its answer, it may be lost; that is what presumed means.
        guard options.isPunctual, options.policy == .resend, entry.accepted == 0 else { return }
        // The other one may still be on its way.
        guard !isRepeated(number), !hasTwinArrived(number), !wasTwinRead(number) else { return }
        check(mayBeSuperseded(number), 1, "\(name(number)) is \(word), but nobody has accepted or refused it")
    }

    /// Nothing is left to do.
    func close() {
        for (partition, stored) in world.broker.partitions.enumerated() {
            let committed = world.broker.committed[Int32(partition)]?.offset ?? 0
            check(
                stored.isEmpty || !options.sick.isEmpty || committed == world.broker.end(of: Int32(partition))
                    || isBeyondCut(Int32(partition)),
                1,
                "partition \(partition) ends at \(world.broker.end(of: Int32(partition))), committed is \(committed)"
            )
        }
        if options.publishesAll {
            for number in notifications.indices {
                check(
                    notifications[number].outcomeAt != nil || isMoved(number) || isExcused(number) || isSick(number),
                    1,
                    "\(name(number)) has no outcome"
                )
            }
            let lost = notifications.indices.contains {
                notifications[$0].outcomeAt == nil && !isMoved($0) && !notifications[$0].isSkipped && isDeleted($0)
                    && !wasBeforeAllCommits($0)
            }
            check(
                !lost || !holds(.retention) || world.recordsCountedLost > 0 || !options.sick.isEmpty
                    || options.isForGood,
                1,
                "retention took notifications, and no worker has counted them"
            )
        }
        check(world.cutsCounted == 0 || world.broker.cut != nil, 1, "a worker counts a log as cut that was not")
        closeOrder()
        closeBadges()
    }
}
