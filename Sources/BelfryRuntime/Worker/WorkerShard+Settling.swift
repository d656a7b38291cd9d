import APNsProtocol
import Logging
import PipelineCore
import RedisClient

/// Fourth stage: what the lanes learned becomes outcomes.
extension WorkerShard: GatewayLaneDelegate {
    func lane(_ lane: GatewayLane, settled verdict: LaneVerdict) {
        settle(verdict.confirmed, of: lane, .confirmed)
        settle(verdict.presumed, of: lane, .presumed)
        settle(verdict.unknown, of: lane, .unknown)
        let sender = senders.senders[Int(lane.sender)]
        let accepted =
            lane.machine.log.liveCount(in: verdict.confirmed) + lane.machine.log.liveCount(in: verdict.presumed)
        sender.tokenGuard.noteAccepted(accepted)
        sender.breaker.accepted(accepted)
        sender.acceptedTokens.insert(verdict.confirmed, of: lane.machine.log)
        sender.acceptedTokens.insert(verdict.presumed, of: lane.machine.log)
        sender.counters.resent += verdict.resent
        notePresumedWrong(lane.machine.log.liveCount(in: verdict.presumedWrong), of: lane)
        if let refusal = verdict.refused {
            settle(refusal, of: lane, resendEnd: verdict.resendEnd)
        }
    }

    /// Answers came later than the window. What was dropped since, as its partition went, counts for nobody.
    private func notePresumedWrong(_ count: Int, of lane: GatewayLane) {
        guard count > 0 else { return }
        senders.senders[Int(lane.sender)].counters.presumedWrong += count
        var metadata = laneMetadata(lane)
        metadata["notifications"] = .stringConvertible(count)
        logger.warning("silence was taken for acceptance, and an answer came after all", metadata: metadata)
    }

    func laneMayConnect(now: MonotonicTime, sparing: Bool) -> MonotonicTime? {
        settings.connectionBudget.take(now: now, sparing: sparing)
    }

    func laneConnected(_ lane: GatewayLane) {
        senders.senders[Int(lane.sender)].counters.connects += 1
        logger.info("connected to the gateway", metadata: laneMetadata(lane))
    }

    func laneDisconnected(_ lane: GatewayLane, reason: DisconnectReason) {
        let sender = senders.senders[Int(lane.sender)]
        sender.counters.count(reason)
        switch reason {
        case .certificateRefused:
            sender.breaker.failed(.certificateRefused, now: now, random: settings.randomBits())
        case .connectFailed, .endOfStream, .failure:
            sender.breaker.connectionFailed(now: now, random: settings.randomBits())
        case .errorResponse, .shutdown, .closedHere:
            break
        }
    }

    func lane(_ lane: GatewayLane, answered response: ErrorResponse) -> Bool {
        let sender = senders.senders[Int(lane.sender)]
        sender.counters.errorResponses[response.status.rawValue, default: 0] += 1
        judge(StatusRule(response.status), of: sender)
        if StatusRule(response.status) == .rejectToken { sender.noteInvalidToken(now: now) }
        var metadata = laneMetadata(lane)
        metadata["status"] = .stringConvertible(response.status.rawValue)
        metadata["identifier"] = .stringConvertible(response.identifier)
        logger.info("error response", metadata: metadata)
        return !sender.tokenGuard.hasTripped && !sender.breaker.doubtsTokens
    }

    /// What an answer says about the whole topic.
    private func judge(_ rule: StatusRule, of sender: TopicSender) {
        switch rule {
        case .parkTopic:
            sender.breaker.failed(.topicRefused, now: now, random: settings.randomBits())
        case .rejectToken where !sender.breaker.holdsRefusals && !sender.breaker.doubtsTokens:
            sender.tokenGuard.noteInvalid()
            guard sender.tokenGuard.hasTripped else { return }
            sender.breaker.failed(.tokensDoubted, now: now, random: settings.randomBits())
        default:
            break
        }
    }

    func laneSorts(_ lane: GatewayLane) {
        senders.senders[Int(lane.sender)].sort(lane, now: now)
    }

    private func settle(_ range: Range<UInt64>, of lane: GatewayLane, _ outcome: OutcomeKind) {
        if settings.dedupeWindow > .zero, outcome != .unknown { return remember(range, of: lane, outcome) }
        for sequence in range {
            let entry = lane.machine.log.entry(at: sequence)
            if !entry.isDropped { settle(entry.reference, outcome) }
        }
    }

    private func settle(_ refusal: LaneVerdict.Refusal, of lane: GatewayLane, resendEnd: UInt64) {
        let entry = lane.machine.log.entry(at: refusal.sequence)
        guard !entry.isDropped else { return }
        let status = refusal.status.rawValue
        let sender = senders.senders[Int(lane.sender)]
        switch refusal.rule {
        case .rejectToken:
            let token = Array(NotificationFrame.command2Token(in: lane.machine.log.frame(at: refusal.sequence)))
            let checksum = entry.checksum
            let suspect = TopicSender.Suspect(
                reference: entry.reference,
                token: token,
                checksum: checksum,
                status: status
            )
            if sender.breaker.tokenRefused(now: now, random: settings.randomBits()) {
                // What else waits for the token waits for the same judgement.
                sender.suspects.append(suspect)
                sender.suspects += takeWhatWaits(for: suspect, beside: lane, of: sender, resendEnd: resendEnd).map {
                    .init(reference: $0, token: token, checksum: checksum, status: nil)
                }
                return
            }
            believe(suspect, status, of: sender)
            // What else waits for it is not sent: each would cost a connection.
            for reference in takeWhatWaits(for: suspect, beside: lane, of: sender, resendEnd: resendEnd) {
                settle(reference, .tombstoned, reason: TokenRecord.Reason.invalid.name)
            }
            sender.acceptedTokens.remove(checksum: checksum)
        case .deadLetter, .isolate:
            sender.breaker.contentRefused()
            rejectToken(
                entry.reference,
                status: status,
                reason: "gateway-status-\(status)",
                detail: "the gateway refused the notification: \(refusal.status)"
            )
        case .retry, .parkTopic, .acceptedLast, .unattributable:
            settle(entry.reference, .rejected, status: status, reason: "gateway-status-\(status)")
        }
    }

    /// Takes what waits for a token out of its lane and the one beside it.
    ///
    /// - Parameter resendEnd: of the lane; see ``LaneVerdict/resendEnd``.
    private func takeWhatWaits(
        for suspect: TopicSender.Suspect,
        beside lane: GatewayLane,
        of sender: TopicSender,
        resendEnd: UInt64
    ) -> [NotificationReference] {
        sender.lanes(beside: lane).flatMap { each in
            let taken = each.machine.discard(checksum: suspect.checksum) {
                NotificationFrame.command2Token(in: $0).elementsEqual(suspect.token)
            }
            let resent = each === lane ? taken.count { $0 < resendEnd } : 0
            sender.counters.resent -= resent
            return taken.map { each.machine.log.entry(at: $0).reference }
        }
    }

    /// The gateway's word on a sample of tokens is believed after all.
    func believe(_ suspects: [TopicSender.Suspect], of sender: TopicSender) {
        for suspect in suspects {
            if let status = suspect.status {
                believe(suspect, status, of: sender)
            } else {
                settle(suspect.reference, .tombstoned, reason: TokenRecord.Reason.invalid.name)
            }
        }
    }

    /// A token the gateway calls invalid gets its tombstone first and its outcome when Redis and push.tombstones have taken it.
    /// Until look-ups see the tombstone, the sender remembers it.
    private func believe(_ suspect: TopicSender.Suspect, _ status: UInt8, of sender: TopicSender) {
        let token = suspect.token
        let checksum = suspect.checksum
        let now = UInt32(clamping: settings.unixMilliseconds() / 1000)
        sender.refusedTokens.insert(token, checksum: checksum, refusedAt: now)
        let settled: () -> Void = { [unowned self] in
            sender.refusedTokens.written(token, checksum: checksum, through: batchesTakenIn)
            settle(suspect.reference, .rejected, status: status, reason: TokenRecord.Reason.invalid.name)
        }
        let change = TokenChange(
            environment: sender.environment,
            bundleID: sender.bundleID,
            token: token,
            kind: .tombstone(at: now, .invalid)
        )
        write(change, in: sender.tokens, then: settled)
    }

    private func write(_ change: TokenChange, in space: TokenTable.Space, then settled: @escaping () -> Void) {
        guard !isStopped else { return }
        guard let tokens else { return settled() }
        tokens.make(change, in: space) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let facts):
                tombstones.publish(change, facts) { [weak self] in self?.note(change, facts, then: settled) }
            case .failure(let error):
                // It may run twice; the offset waits for it.
                logger.warning("tombstone could not be written", metadata: ["error": "\(error)"])
                eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in
                    self?.write(change, in: space, then: settled)
                }
            }
        }
    }

    /// Puts a tombstone of this shard into the filter before what the sender remembers of the token may go.
    private func note(_ change: TokenChange, _ facts: TokenFacts, then settled: @escaping () -> Void) {
        guard let filters else { return settled() }
        filters.note(change, facts, from: eventLoop) { [weak self] in
            if self?.isStopped == false { settled() }
        }
    }

    private func laneMetadata(_ lane: GatewayLane) -> Logger.Metadata {
        let sender = senders.senders[Int(lane.sender)]
        return [
            "topic": .string(sender.bundleID),
            "environment": .string(sender.environment),
            "lane": .stringConvertible(lane.number),
        ]
    }

    /// A notification has its outcome. It is done at once, or when the broker has acknowledged what is published about it.
    func settle(
        _ reference: NotificationReference,
        _ outcome: OutcomeKind,
        status: UInt8 = 0,
        reason: @autoclosure () -> String = ""
    ) {
        guard let partition = partitions[Int(reference.assignment)] else { return }
        guard settings.publishes(outcome) else {
            if partition.frontier.markDone(reference.record, token: reference.token) {
                counters.outcomes.count(outcome)
            }
            return
        }
        // Settled before: a late answer after it was presumed. The first word stands in the books.
        guard !partition.frontier.isDone(reference.record, token: reference.token) else { return }
        counters.outcomes.count(outcome)
        publish(Publication(reference: reference, content: .outcome(outcome, status: status, reason: reason())))
    }
}
