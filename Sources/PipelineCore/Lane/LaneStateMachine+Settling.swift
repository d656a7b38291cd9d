import APNsProtocol

/// What silence, answers and endings prove. Every method returns the verdict after the state has changed; the entries it
/// speaks of stay readable in the log until ``evictSettled()``.
extension LaneStateMachine {
    /// Takes what has been silent for the whole window for accepted.
    public mutating func presume(now: MonotonicTime) -> LaneVerdict {
        var verdict = nothing
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
    /// - Parameter random: 64 random bits for the wait that a processing error or a refused topic asks for.
    public mutating func answered(_ response: ErrorResponse, now: MonotonicTime, random: UInt64) -> LaneVerdict {
        guard phase == .open else { return nothing }
        if answersSentinel(response) { return sentinelAnswered() }
        let rule = StatusRule(response.status)
        guard
            rule != .unattributable, let named = log.sequence(of: response.identifier),
            named >= connectionStart, named < sentEnd
        else {
            // A shutdown blames no notification, so none may be suspected for it: an end of stream like any other.
            if rule == .acceptedLast { return ended(.failed, isSilent: false, now: now, random: random) }
            return unattributedAnswer(now: now, random: random)
        }
        phase = .disconnected
        waitsForTopic = rule == .stopTopic
        unattributed = 0
        let wasSettled = settledEnd
        let handedOver = sentEnd
        var verdict = nothing
        verdict.confirmed = wasSettled..<max(wasSettled, rule == .acceptedLast ? named + 1 : named)

        let isFinal = judge(named, rule: rule, now: now, random: random)
        settledEnd = isFinal || rule == .acceptedLast ? named + 1 : named
        if isFinal {
            verdict.refused = .init(
                sequence: named,
                status: response.status,
                rule: rule,
                wasPresumed: named < wasSettled,
                isBehindAcceptance: hasAccepted(before: named)
            )
        }
        verdict.presumedWrong = min(settledEnd, wasSettled)..<wasSettled
        verdict.resent = log.liveCount(in: settledEnd..<handedOver)
        verdict.resendEnd = handedOver
        adjustWindow(named: named, rule: rule, settledBefore: wasSettled, handedOver: handedOver, now: now)
        if rule != .stopTopic, rule != .retry || !verdict.confirmed.isEmpty {
            failures = 0
        }
        rewind()
        return verdict
    }

    /// The connection, or the attempt to make one, came to its end without an answer: the fate of what left is unknown ([talk]),
    /// that of what was handed over but not flushed too, for a part of a flush may have left. After two failures in a row
    /// what is sent again goes in groups, halving: a gateway that closes after every so many would else accept the same
    /// ones for ever. A notification that was alone in flight so often when that happened is refused, see
    /// ``LaneLimits/loneCloses``.
    public mutating func ended(_ end: ConnectionEnd, now: MonotonicTime, random: UInt64) -> LaneVerdict {
        ended(end, isSilent: true, now: now, random: random)
    }

    /// - Parameter isSilent: false if the connection ended with an answer after all, if one that blames nothing.
    private mutating func ended(
        _ end: ConnectionEnd,
        isSilent: Bool,
        now: MonotonicTime,
        random: UInt64
    ) -> LaneVerdict {
        guard phase == .open || phase == .connecting else { return nothing }
        var verdict = nothing
        let wasOpen = phase == .open
        waitsForTopic = end == .certificateRefused
        switch end {
        case .closedHere:
            phase = .disconnected
        case .failed, .peerDead:
            failures += 1
            phase = .waiting(until: now + limits.backoff.delay(failures: failures, random: random))
            guard end == .failed, wasOpen, sentEnd > settledEnd else { break }
            if isSilent, isPoison() {
                refuseLone(into: &verdict)
            } else if failures > 1 {
                halveSuspects()
            }
        case .certificateRefused:
            failures += 1
            phase = .waiting(until: now + limits.topicBackoff.delay(failures: failures, random: random))
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
        case .stopTopic:
            failures += 1
            phase = .waiting(until: now + limits.topicBackoff.delay(failures: failures, random: random))
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
        var verdict = nothing
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
                refuseLone(into: &verdict)
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

    /// Whether the open connection had accepted something before a notification that the gateway now speaks of.
    private func hasAccepted(before named: UInt64) -> Bool {
        // Dropped entries were taken out before it was their turn. When the log has let go of a part of the connection, so
        // much was taken that something was accepted.
        log.head > connectionStart || log.liveCount(in: connectionStart..<named) > 0
    }

    /// Counts a silent end against the only notification in flight; true if there have been too many. A sentinel behind it
    /// may be the cause instead.
    private mutating func isPoison() -> Bool {
        guard limits.unknownFate == .resend, sentEnd - settledEnd == 1, !hasForgotten, retirement?.sentinel == nil
        else { return false }
        return log.countLoneClose(at: settledEnd) >= limits.loneCloses
    }

    /// The only notification in flight is the cause of what happened: it is not sent again.
    private mutating func refuseLone(into verdict: inout LaneVerdict) {
        verdict.refused = .init(
            sequence: settledEnd,
            status: .unknown,
            rule: .isolate,
            wasPresumed: false,
            isBehindAcceptance: hasAccepted(before: settledEnd)
        )
        settledEnd += 1
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
