import APNsProtocol

/// The conclusions from answers and from their absence. Every method returns its verdict after the state has changed.
extension StreamQueue {
    /// The service answered a request.
    ///
    /// - Parameters:
    ///   - answer: the meaning of status and reason, see ``ProviderAnswer/verdict``.
    ///   - slowsConnection: see ``ProviderAnswer/slowsConnection``.
    ///   - random: 64 random bits, for the wait before a notification goes again.
    /// - Returns: nil if the ticket is old.
    public mutating func answered(
        _ ticket: StreamTicket,
        _ answer: ProviderVerdict,
        slowsConnection: Bool = false,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> StreamVerdict? {
        guard let slot = slotInFlight(ticket) else { return nil }
        land(slot)
        acquit(slot)
        rejections.countAnswer(isRejection: slowsConnection)
        switch answer {
        case .accepted:
            trouble.accepted(now: now)
            isTopicRefused = false
            return settle(slot, .confirmed)
        case .rejected: return settle(slot, .rejected)
        case .deadLetter: return settle(slot, .deadLetter)
        case .tokenDead: return settle(slot, .tokenDead)
        case .tokenRefused: return settle(slot, .tokenRefused)
        case .retryTokenLater:
            return tryLater(slot, isOwnTrouble: true, now: now, random: random())
        case .topicRefused:
            // The health of the topic limits the attempts.
            return tryLater(slot, isOwnTrouble: false, now: now, random: random())
        case .backOff:
            let isTrouble = trouble.failed(now: now)
            let isOwn = slab.entries[slot].retriedSince.map { $0 < trouble.acceptedAt } ?? false
            let verdict = tryLater(slot, isOwnTrouble: isOwn, now: now, random: random())
            return isTrouble ? stopped(verdict, .serviceTrouble, now: now) : verdict
        case .doesNotWork(let extent):
            if extent == .topic { isTopicRefused = true }
            return stopped(sendAgain(slot, .retried), .doesNotWork(extent), now: now)
        case .reconnectOnce:
            let isRepeated = slab.entries[slot].hasReconnected
            slab.entries[slot].hasReconnected = true
            let verdict = sendAgain(slot, .retried)
            return isRepeated ? stopped(verdict, .doesNotWork(.team), now: now) : verdict
        case .reconnect:
            return sendAgain(slot, .retried)
        }
    }

    /// A stream ended without an answer. After an answer this does nothing.
    ///
    /// - Parameters:
    ///   - isRefused: the peer has not processed the request: REFUSED_STREAM, or a stream above the last one of a
    ///     GOAWAY.
    ///   - random: 64 random bits.
    /// - Returns: nil if the ticket is old.
    public mutating func closed(
        _ ticket: StreamTicket,
        isRefused: Bool,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> StreamVerdict? {
        guard let slot = slotInFlight(ticket) else { return nil }
        land(slot)
        return isRefused ? sendAgain(slot, .retried) : judgeUnknown(slot, isToBlame: true, now: now, random: random())
    }

    /// A request was not answered in time.
    ///
    /// - Parameters:
    ///   - isPassedOver: the connection has answered a request that was sent after it, see
    ///     ``StreamPool/timedOut(_:stream:now:random:)``.
    ///   - random: 64 random bits.
    /// - Returns: nil if the ticket is old.
    public mutating func timedOut(
        _ ticket: StreamTicket,
        isPassedOver: Bool,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> StreamVerdict? {
        guard let slot = slotInFlight(ticket) else { return nil }
        land(slot)
        return judgeUnknown(slot, isToBlame: isPassedOver, now: now, random: random())
    }

    /// A connection ended: the fate of what was in flight on it is unknown.
    ///
    /// - Returns: the verdicts, in the order of sending.
    public mutating func lost(_ loss: StreamLoss) -> [StreamVerdict] {
        guard inFlightCount > 0 else { return [] }
        let slots = slotsInFlight(on: loss.connection)
        for slot in slots { land(slot) }
        if loss.separates, !slots.isEmpty { suspicion.seclude(now: loss.endedAt) }
        if loss.isSilent, limits.unknownFate == .resend {
            let wereAlone = !slots.isEmpty && slots.count == loss.inFlight
            if wereAlone, slots.allSatisfy({ slab.entries[$0].isSuspected }) { suspicion.convict(now: loss.endedAt) }
            suspect(slots)
        }
        return slots.map { slot in
            if limits.unknownFate == .resend, loss.isSilent, loss.inFlight == 1, countLoneClose(slot) {
                return settle(slot, .poison)
            }
            if loss.isUnread { return sendAgain(slot, .retried) }
            return settleUnknown(slot) ?? sendAgain(slot, .resent)
        }
    }

    // MARK: Decisions

    /// Another attempt after a back-off, or the end of attempts.
    ///
    /// - Parameter isOwnTrouble: the service works for others, so the time of attempts is limited.
    private mutating func tryLater(
        _ slot: Int,
        isOwnTrouble: Bool,
        now: MonotonicTime,
        random: UInt64
    ) -> StreamVerdict {
        let refusals = min(slab.entries[slot].refusals, .max - 1) + 1
        let since = slab.entries[slot].retriedSince ?? now
        slab.entries[slot].refusals = refusals
        slab.entries[slot].retriedSince = since
        let isOver =
            isOwnTrouble ? since.elapsed(until: now) >= limits.retryFor : refusals >= limits.serviceAttempts
        if isOver { return settle(slot, .rejected) }
        return sendAgain(
            slot,
            .retried,
            from: now + limits.backoff.delay(failures: Int(refusals), random: random)
        )
    }

    /// Decides about a request without an answer, whose connection goes on.
    private mutating func judgeUnknown(
        _ slot: Int,
        isToBlame: Bool,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) -> StreamVerdict {
        if let verdict = settleUnknown(slot) { return verdict }
        guard isToBlame else { return sendAgain(slot, .resent) }
        if countLoneClose(slot) { return settle(slot, .poison) }
        let failures = Int(slab.entries[slot].loneCloses)
        return sendAgain(slot, .resent, from: now + limits.backoff.delay(failures: failures, random: random()))
    }

    /// Ends a request of unknown fate, unless it is to be sent again.
    private mutating func settleUnknown(_ slot: Int) -> StreamVerdict? {
        switch limits.unknownFate {
        case .resend: nil
        case .presume: settle(slot, .presumed)
        case .giveUp: settle(slot, .unknown)
        }
    }

    /// Counts an end for which only this notification can be to blame; true if there were too many.
    private mutating func countLoneClose(_ slot: Int) -> Bool {
        let count = min(slab.entries[slot].loneCloses, .max - 1) + 1
        slab.entries[slot].loneCloses = count
        return count >= limits.loneCloses
    }

    /// Counts a silent end against all that were in flight.
    private mutating func suspect(_ slots: [Int]) {
        var suspects = 0
        for slot in slots {
            slab.entries[slot].closes = min(slab.entries[slot].closes, .max - 1) + 1
            if slab.entries[slot].isSuspected { suspects += 1 }
        }
        if suspects > 0 { suspicion.ended(suspects: suspects) }
    }

    /// A notification that is answered does not end connections.
    private mutating func acquit(_ slot: Int) {
        guard slab.entries[slot].closes > 0 else { return }
        if slab.entries[slot].isSuspected { suspicion.acquitted() }
        slab.entries[slot].closes = 0
    }

    /// Adds a finding, after which nothing goes out until the owner has acted.
    private mutating func stopped(
        _ verdict: StreamVerdict,
        _ finding: StreamVerdict.Finding,
        now: MonotonicTime
    ) -> StreamVerdict {
        pause(now: now)
        var verdict = verdict
        verdict.finding = finding
        return verdict
    }
}
