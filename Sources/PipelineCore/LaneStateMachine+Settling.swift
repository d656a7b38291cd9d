import APNsProtocol

/// What silence, answers and endings prove. Every method returns the verdict after the state has changed; the entries it
/// speaks of stay readable in the log until ``evictSettled()``.
extension LaneStateMachine {
    /// Takes what has been silent for the whole window for accepted.
    public mutating func presume(now: MonotonicTime) -> LaneVerdict {
        var verdict = LaneVerdict.nothing(at: settledEnd)
        let start = settledEnd
        while let mark = marks.first, let since = mark.silentSince, since + limits.confirmationWindow <= now {
            settledEnd = max(settledEnd, mark.end)
            marks.removeFirst()
        }
        guard settledEnd > start else { return verdict }
        let known = max(start, quietEnd)
        if settledEnd > known { window.passed(Int(settledEnd - known)) }
        verdict.presumed = start..<settledEnd
        verdict.resendEnd = settledEnd
        noteProgress()
        return verdict
    }

    /// The gateway answered. It closes the connection after that, and so must the caller.
    ///
    /// Everything before the named notification was processed ([field]); everything after it was discarded ([13]) and is
    /// sent again on a new connection. A close after an answer is not a failure: no back-off.
    ///
    /// - Parameters:
    ///   - random: 64 random bits for the wait that a processing error or a refused topic asks for.
    ///   - trustsTokenVerdicts: false while an ``InvalidTokenGuard`` has tripped: that a token is invalid then says something
    ///     about the topic, which is parked.
    public mutating func answered(
        _ response: ErrorResponse,
        now: MonotonicTime,
        random: UInt64,
        trustsTokenVerdicts: Bool = true
    ) -> LaneVerdict {
        guard phase == .open else { return .nothing(at: settledEnd) }
        if answersSentinel(response) { return sentinelAnswered() }
        var rule = StatusRule(response.status)
        if rule == .rejectToken, !trustsTokenVerdicts { rule = .parkTopic }
        guard
            rule != .unattributable, let named = log.sequence(of: response.identifier),
            named >= connectionStart, named < sentEnd
        else {
            // A shutdown blames no notification, so none may be suspected for it: an end of stream like any other.
            if rule == .acceptedLast { return ended(.failed, now: now, random: random) }
            return unattributedAnswer(now: now, random: random)
        }
        phase = .disconnected
        waitsForTopic = rule == .parkTopic
        unattributed = 0
        let wasSettled = settledEnd
        let handedOver = sentEnd
        let wasParked = isParked
        var verdict = LaneVerdict.nothing(at: wasSettled)
        verdict.confirmed = wasSettled..<max(wasSettled, rule == .acceptedLast ? named + 1 : named)

        let isFinal = judge(named, rule: rule, now: now, random: random)
        settledEnd = isFinal || rule == .acceptedLast ? named + 1 : named
        if isFinal {
            verdict.refused = .init(
                sequence: named,
                status: response.status,
                rule: rule,
                wasPresumed: named < wasSettled
            )
        }
        verdict.parked = isParked && !wasParked
        verdict.presumedWrong = min(settledEnd, wasSettled)..<wasSettled
        verdict.resent = log.liveCount(in: settledEnd..<handedOver)
        verdict.resendEnd = handedOver
        adjustWindow(named: named, rule: rule, settledBefore: wasSettled, handedOver: handedOver, now: now)
        if rule != .parkTopic, rule != .retry || !verdict.confirmed.isEmpty {
            failures = 0
            isParked = false
        }
        rewind()
        return verdict
    }

    /// The connection, or the attempt to make one, came to its end without an answer: the fate of what left is unknown ([talk]),
    /// that of what was handed over but not flushed too, for a part of a flush may have left. After two failures in a row
    /// what is sent again goes in groups, halving: a gateway that closes after every so many would else accept the same
    /// ones for ever.
    public mutating func ended(_ end: ConnectionEnd, now: MonotonicTime, random: UInt64) -> LaneVerdict {
        guard phase == .open || phase == .connecting else { return .nothing(at: settledEnd) }
        var verdict = LaneVerdict.nothing(at: settledEnd)
        let wasOpen = phase == .open
        waitsForTopic = end == .certificateRefused
        switch end {
        case .closedHere:
            phase = .disconnected
        case .failed:
            failures += 1
            phase = .waiting(until: now + limits.backoff.delay(failures: failures, random: random))
            if wasOpen, failures > 1, sentEnd > settledEnd { halveSuspects() }
        case .certificateRefused:
            failures += 1
            verdict.parked = !isParked
            isParked = true
            phase = .waiting(until: now + limits.parkedBackoff.delay(failures: failures, random: random))
        }
        let handedOver = sentEnd
        if end == .certificateRefused, wasOpen, log.head <= connectionStart {
            // The gateway read nothing of this connection: there is no doubt about what was written, and what silence made
            // us presume was wrong. (When the log has let go of a part, so much was taken that it must have read.)
            verdict.presumedWrong = connectionStart..<settledEnd
            settledEnd = connectionStart
        } else {
            settleUnknown(upTo: sentEnd, into: &verdict)
        }
        verdict.resent = log.liveCount(in: settledEnd..<handedOver)
        verdict.resendEnd = handedOver
        rewind()
        return verdict
    }

    /// Forgets what has its outcome, but keeps what was presumed lately on the open connection: a late answer can still
    /// concern it.
    public mutating func evictSettled() {
        guard phase == .open else { return log.evict(before: settledEnd) }
        log.evict(before: settledEnd, retaining: limits.retainedBytes)
    }

    // MARK: Decisions

    /// Decides about the notification an answer named; true if this was its last word.
    private mutating func judge(_ named: UInt64, rule: StatusRule, now: MonotonicTime, random: UInt64) -> Bool {
        switch rule {
        case .rejectToken, .deadLetter:
            return true
        case .acceptedLast, .unattributable:
            return false
        case .parkTopic:
            failures += 1
            isParked = true
            phase = .waiting(until: now + limits.parkedBackoff.delay(failures: failures, random: random))
            return false
        case .retry:
            let refusals = log.countRefusal(at: named)
            guard refusals < limits.processingAttempts else { return true }
            phase = .waiting(until: now + limits.backoff.delay(failures: refusals, random: random))
            return false
        case .isolate:
            let wentAlone = isolation?.groupEnd == named + 1 && settledEnd == named
            guard log.countRefusal(at: named) < 2 || !wentAlone else { return true }
            isolation = Isolation(groupEnd: named + 1, groupSize: 1, suspectsEnd: named + 1)
            return false
        }
    }

    /// An answer that names nothing we know: the fate of all that left is unknown. After two in a row the suspects go in
    /// groups, halving, so that one of them cannot keep the lane busy for ever.
    private mutating func unattributedAnswer(now: MonotonicTime, random: UInt64) -> LaneVerdict {
        phase = .disconnected
        waitsForTopic = false
        var verdict = LaneVerdict.nothing(at: settledEnd)
        guard sentEnd > settledEnd else {
            // Nothing was in flight, so nothing of ours can have caused it: treat it as a failure, with its back-off.
            failures += 1
            phase = .waiting(until: now + limits.backoff.delay(failures: failures, random: random))
            rewind()
            return verdict
        }
        unattributed += 1
        if limits.unknownFate == .resend {
            let suspects = sentEnd - settledEnd
            if unattributed > 1, suspects == 1, !hasForgotten {
                verdict.refused = .init(sequence: settledEnd, status: .unknown, rule: .isolate, wasPresumed: false)
                settledEnd += 1
                unattributed = 1
                // A gateway that answers everything so must not get through the whole backlog at the budget's pace.
                failures += 1
                phase = .waiting(until: now + limits.backoff.delay(failures: failures, random: random))
            } else if unattributed > 1 {
                halveSuspects()
            }
        } else {
            settleUnknown(upTo: sentEnd, into: &verdict)
        }
        verdict.resent = log.liveCount(in: settledEnd..<sentEnd)
        verdict.resendEnd = sentEnd
        rewind()
        return verdict
    }

    /// Of what is in flight the first half goes first, and nothing more until it is settled.
    private mutating func halveSuspects() {
        let size = max(1, (sentEnd - settledEnd) / 2)
        isolation = Isolation(
            groupEnd: settledEnd + size,
            groupSize: size,
            suspectsEnd: max(sentEnd, isolation?.suspectsEnd ?? 0)
        )
    }

    private mutating func settleUnknown(upTo end: UInt64, into verdict: inout LaneVerdict) {
        guard end > settledEnd else { return }
        switch limits.unknownFate {
        case .resend: return
        case .presume: verdict.presumed = settledEnd..<end
        case .giveUp: verdict.unknown = settledEnd..<end
        }
        settledEnd = end
    }

    /// What an answer that names a notification says about how much may be out.
    private mutating func adjustWindow(
        named: UInt64,
        rule: StatusRule,
        settledBefore: UInt64,
        handedOver: UInt64,
        now: MonotonicTime
    ) {
        let known = max(settledBefore, quietEnd)
        if named > known { window.passed(Int(named - known)) }
        guard rule != .acceptedLast else { return }
        if named < settledBefore {
            // Settled in silence already, so it took the whole window at least.
            window.answered(after: limits.confirmationWindow)
        } else if let written = marks.writtenAt(named) {
            window.answered(after: .nanoseconds(now.nanoseconds - min(now.nanoseconds, written.nanoseconds)))
        }
        if settledEnd < handedOver { window.refused(outstanding: Int(handedOver - min(known, named))) }
    }

    /// Puts everything unsettled back in line for the next connection.
    mutating func rewind() {
        retirement = nil
        sentEnd = settledEnd
        flushedEnd = settledEnd
        quietEnd = settledEnd
        if sortedEnd != nil { sortedEnd = settledEnd }
        marks.removeAll()
        passDropped()
        advanceIsolation()
    }

    mutating func noteProgress() {
        failures = 0
        unattributed = 0
        isParked = false
        passDropped()
        advanceIsolation()
    }

    /// Lets the next group of suspects go once the last one is settled.
    mutating func advanceIsolation() {
        guard var group = isolation else { return }
        while settledEnd >= group.groupEnd {
            guard group.groupEnd < group.suspectsEnd else {
                isolation = nil
                return
            }
            group.groupSize *= 2
            group.groupEnd = min(group.suspectsEnd, max(settledEnd, group.groupEnd) + group.groupSize)
        }
        isolation = group
    }
}
