import APNsProtocol

/// The conclusions from silence, answers and ends of connections. Every method returns the verdict after the state has
/// changed; the verdict's entries stay readable in the log until ``evictSettled(now:)``.
extension LaneStateMachine {
    /// Presumes notifications accepted that were silent for the whole window. None of a connection that is ending.
    mutating func presume(now: MonotonicTime) -> LaneVerdict {
        var verdict = nothing
        guard !isEnding else { return verdict }
        let start = settledEnd
        let writtenAt = marks.writtenAt(start)
        while let mark = marks.first, let since = mark.silentSince, since + limits.confirmationWindow <= now {
            settledEnd = max(settledEnd, mark.end)
            marks.removeFirst()
        }
        guard settledEnd > start else { return verdict }
        verdict.writtenAt = writtenAt
        let known = max(start, quietEnd)
        if settledEnd > known { window.passed(Int(settledEnd - known)) }
        verdict.presumed = start..<settledEnd
        verdict.resendEnd = settledEnd
        noteProgress()
        return verdict
    }

    /// The gateway answered. It closes the connection afterwards, and so must the caller.
    ///
    /// Everything before the named notification was processed ([field]); everything after it was discarded ([13]) and
    /// is sent again on a new connection. A close after an answer is not a failure: no back-off.
    ///
    /// - Parameter random: 64 random bits for the wait after a processing error or a refused topic.
    public mutating func answered(_ response: ErrorResponse, now: MonotonicTime, random: UInt64) -> LaneVerdict {
        guard phase == .open else { return nothing }
        if answersSentinel(response) { return sentinelAnswered() }
        let rule = StatusRule(response.status)
        guard rule != .unattributable, let named = sequence(named: response) else {
            // A shutdown blames no notification, so none may be suspected: an end of stream like any other.
            if rule == .acceptedLast { return ended(.failed, isSilent: false, now: now, random: random) }
            return unattributedAnswer(now: now, random: random)
        }
        phase = .disconnected
        waitCause = rule == .stopTopic ? .topic : .other
        unattributed = 0
        let wasSettled = settledEnd
        let handedOver = sentEnd
        var verdict = nothing
        verdict.writtenAt = marks.writtenAt(wasSettled)
        verdict.confirmed = wasSettled..<max(wasSettled, rule == .acceptedLast ? named + 1 : named)

        let isFinal = judge(named, rule: rule, now: now, random: random)
        settledEnd = isFinal || rule == .acceptedLast ? named + 1 : named
        if isFinal {
            verdict.refused = .init(
                sequence: named,
                status: response.status,
                rule: rule,
                isNamed: true,
                wasPresumed: named < wasSettled,
                standing: standing(of: named)
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

    /// The open connection is ending: the gateway has closed its side, or the connection has failed. Its end follows.
    ///
    /// Nothing more is handed over, and silence proves nothing: the gateway may read no more, while its kernel still
    /// acknowledges. An answer that was on its way counts.
    public mutating func ending() {
        if phase == .open { isEnding = true }
    }

    /// The notification of the open connection that an answer names; nil: none.
    public func sequence(named response: ErrorResponse) -> UInt64? {
        guard let named = log.sequence(of: response.identifier), named >= connectionStart, named < sentEnd else {
            return nil
        }
        return named
    }

    /// The connection, or the attempt to make one, ended without an answer. The fate of everything unsettled is unknown
    /// ([talk]), including frames handed over but not flushed: a part of a flush may have left. After two failures in a
    /// row the notifications are sent again in groups, halving: otherwise a gateway that closes after every so many
    /// would accept the same ones for ever. A notification that was alone in flight too often at such ends is refused,
    /// see ``LaneLimits/loneCloses``.
    public mutating func ended(_ end: ConnectionEnd, now: MonotonicTime, random: UInt64) -> LaneVerdict {
        ended(end, isSilent: true, now: now, random: random)
    }

    /// - Parameter isSilent: false if the connection ended with an answer that blames no notification.
    private mutating func ended(
        _ end: ConnectionEnd,
        isSilent: Bool,
        now: MonotonicTime,
        random: UInt64
    ) -> LaneVerdict {
        guard phase == .open || phase == .connecting else { return nothing }
        var verdict = nothing
        let wasOpen = phase == .open
        waitCause = end == .certificateRefused ? .topic : end == .failed && !wasOpen ? .gateway : .other
        switch end {
        case .closedHere:
            phase = .disconnected
        case .failed, .peerDead, .foreignProtocol:
            countFailure(wasOpen: wasOpen, now: now, random: random)
            guard end == .failed, wasOpen, sentEnd > settledEnd else { break }
            if isSilent, isPoison() {
                refuseLone(into: &verdict)
            } else if failures > 1 {
                halveSuspects()
            }
        case .certificateRefused:
            countFailure(wasOpen: wasOpen, isRefused: true, now: now, random: random)
        }
        let handedOver = sentEnd
        if end == .certificateRefused, wasOpen, !hasLetGo {
            // The gateway read nothing of this connection: nothing written was accepted, and notifications presumed
            // from silence were presumed wrongly. (If the log has let go of some, so much was written, or so long ago,
            // that the gateway must have read.)
            let start = max(log.head, connectionStart)
            verdict.presumedWrong = start..<settledEnd
            settledEnd = start
        } else {
            settleUnknown(upTo: sentEnd, into: &verdict)
        }
        verdict.resent = log.liveCount(in: settledEnd..<handedOver)
        verdict.resendEnd = handedOver
        rewind()
        return verdict
    }

    /// The time after which a gateway has refused the certificate of a new connection, if it does.
    private static let certificatePatience = Duration.seconds(10)

    /// Forgets settled entries, except those presumed lately on the open connection: a late answer can still concern
    /// them. The share of the lane counts only once the connection is proven, for a refused certificate concerns all
    /// of them.
    public mutating func evictSettled(now: MonotonicTime) {
        guard phase == .open else {
            log.evict(before: settledEnd)
            return
        }
        let isProven = connectionOpenedAt + Self.certificatePatience <= now
        let kept = isProven ? min(limits.retainedBytes, retainedShare) : limits.retainedBytes
        if log.evict(before: settledEnd, retaining: kept) > 0 { hasLetGo = true }
    }

    // MARK: Decisions

    /// Decides about the notification named by an answer; true if the answer is final.
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
            // Everything before it is settled: one notification at a time is tried again.
            if retried?.sequence != named { retried = (named, now) }
            guard refusals < limits.processingAttempts, let since = retried?.since,
                since.elapsed(until: now) < limits.retryFor
            else { return true }
            phase = .waiting(until: now + limits.backoff.delay(failures: refusals, random: random))
            return false
        case .isolate:
            let wentAlone = isolation?.groupEnd == named + 1 && settledEnd == named
            guard log.countRefusal(at: named) < 2 || !wentAlone else { return true }
            isolation = Isolation(groupEnd: named + 1, groupSize: 1, suspectsEnd: named + 1)
            return false
        }
    }

    /// The answer names no known notification: the fate of everything sent is unknown. After two in a row the suspects
    /// go in groups, halving, so that one of them cannot keep the lane busy for ever.
    private mutating func unattributedAnswer(now: MonotonicTime, random: UInt64) -> LaneVerdict {
        phase = .disconnected
        waitCause = .other
        var verdict = nothing
        guard sentEnd > settledEnd else {
            // Nothing was in flight, so none of our notifications can be the cause: treat it as a failure, with its
            // back-off.
            countFailure(wasOpen: true, now: now, random: random)
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

    /// The history of the open connection before the notification `named`.
    private func standing(of named: UInt64) -> AppHealth.RefusalStanding {
        // Dropped entries were removed before their turn.
        hasLetGo || log.liveCount(in: max(log.head, connectionStart)..<named) > 0 ? .afterAcceptance : .first
    }

    /// Counts a silent end against the only notification in flight; true if there were too many. With a sentinel behind
    /// it nothing is counted: the sentinel may be the cause.
    private mutating func isPoison() -> Bool {
        guard limits.unknownFate == .resend, sentEnd - settledEnd == 1, !hasForgotten, retirement?.sentinel == nil
        else { return false }
        return log.countLoneClose(at: settledEnd) >= limits.loneCloses
    }

    /// Refuses the only notification in flight as the cause of the end: it is not sent again.
    private mutating func refuseLone(into verdict: inout LaneVerdict) {
        verdict.refused = .init(
            sequence: settledEnd,
            status: .unknown,
            rule: .isolate,
            isNamed: false,
            wasPresumed: false,
            standing: standing(of: settledEnd)
        )
        settledEnd += 1
    }

    /// Sends the first half of the notifications in flight first, and nothing more until it is settled.
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
        case .presume:
            verdict.presumed = settledEnd..<end
            verdict.isPresumedByPolicy = true
        case .giveUp: verdict.unknown = settledEnd..<end
        }
        settledEnd = end
    }

    /// Adjusts the window of sending to an answer that names a notification.
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
            // Already settled by silence, so the answer took the whole window at least.
            window.answered(after: limits.confirmationWindow)
        } else if let written = marks.writtenAt(named) {
            window.answered(after: .nanoseconds(now.nanoseconds - min(now.nanoseconds, written.nanoseconds)))
        }
        if settledEnd < handedOver { window.refused(outstanding: Int(handedOver - min(known, named))) }
    }

    /// Puts everything unsettled back in line for the next connection.
    mutating func rewind() {
        retirement = nil
        isEnding = false
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
