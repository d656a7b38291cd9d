import APNsProtocol
import Testing

@testable import PipelineCore

/// Conclusions from silence, and from an end without an answer.
@Suite struct LaneSilenceTests {
    @Test("Silence counts from the flush, not from the handing over")
    func windowFromFlush() {
        let probe = LaneProbe()
        probe.publish(2)
        probe.open()
        probe.send(flush: false)
        #expect(probe.presumesAt == nil)
        #expect(probe.silence().presumed == [])
        probe.send()
        #expect(probe.presumesAt == probe.now + LaneProbe.window)
        #expect(probe.silence(.milliseconds(1999)).presumed == [])
        #expect(probe.silence(.milliseconds(1)).presumed == [0, 1])
        #expect(probe.isDrained)
    }

    @Test("A later flush does not confirm earlier than its own window")
    func laterFlush() {
        let probe = LaneProbe()
        probe.publish()
        probe.open()
        probe.send()
        _ = probe.silence(.milliseconds(1000))
        probe.publish()
        probe.send()
        #expect(probe.silence(.milliseconds(1000)).presumed == [0])
        #expect(probe.silence(.milliseconds(1000)).presumed == [1])
    }

    @Test("Flushes that share a mark are presumed together, never before the latest one's window")
    func sharedMarks() {
        let probe = LaneProbe()
        probe.open()
        for _ in 0..<10 {
            probe.publish()
            probe.send()
            _ = probe.silence(.milliseconds(1))
        }
        #expect(probe.silence(.milliseconds(1998)).presumed == [])
        #expect(probe.silence(.milliseconds(1)).presumed == Array(0..<10))
    }

    @Test("Marks stay few however many flushes a window has, and steady traffic does not put one off for ever")
    func marksAreBounded() {
        var marks = FlushMarks()
        for flush in 1...100_000 as ClosedRange<UInt64> {
            marks.appendFlushed(end: flush, now: .init(nanoseconds: flush * 20_000), window: .seconds(2))
        }
        var count = 0
        var lastEnd: UInt64 = 0
        while let first = marks.first {
            #expect(first.end > lastEnd)
            #expect(first.silentSince?.nanoseconds == first.end * 20_000)
            lastEnd = first.end
            marks.removeFirst()
            count += 1
        }
        #expect(lastEnd == 100_000)
        #expect(count >= 60 && count <= 65)
    }

    @Test("An end of stream leaves the fate unknown: by policy sent again, presumed, or given up")
    func endOfStream() {
        for policy in UnknownFatePolicy.allCases {
            let probe = LaneProbe(unknownFate: policy)
            probe.publish(3)
            probe.open()
            probe.send()
            probe.publish(1)
            let verdict = probe.end()
            #expect(verdict.resent == (policy == .resend ? 3 : 0))
            #expect(verdict.presumed == (policy == .presume ? [0, 1, 2] : []))
            #expect(verdict.unknown == (policy == .giveUp ? [0, 1, 2] : []))
            #expect(!probe.wantsConnection)
            #expect(probe.openAndSend() == (policy == .resend ? [0, 1, 2, 3] : [3]))
        }
    }

    @Test("Only silence for the window tells that the gateway accepted what is presumed, the policy does not")
    func presumedByPolicy() {
        for isSilent in [true, false] {
            let probe = LaneProbe(unknownFate: .presume)
            probe.publish(1)
            probe.open()
            probe.send()
            probe.now = probe.now + LaneProbe.window
            let verdict =
                isSilent
                ? probe.lane.presume(now: probe.now) : probe.lane.ended(.failed, now: probe.now, random: 0)
            #expect(verdict.presumed.count == 1)
            #expect(verdict.isPresumedByPolicy == !isSilent)
        }
    }

    @Test("A notification handed over but not flushed may have left in part: its fate is unknown too")
    func partialFlush() {
        let probe = LaneProbe(unknownFate: .giveUp)
        probe.publish(2)
        probe.open()
        probe.send(flush: false)
        #expect(probe.end().unknown == [0, 1])
        #expect(probe.isDrained)
    }

    @Test("Silence on a connection that is ending presumes nothing, and nothing more is written to it")
    func ending() {
        let probe = LaneProbe(connectionMaxAge: .seconds(10))
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        _ = probe.silence(.milliseconds(1990))
        probe.lane.ending()
        probe.publish(1)
        #expect(probe.presumesAt == nil && probe.silence() == .init())
        probe.lane.finish()
        #expect(probe.send() == [] && !probe.wantsSentinel && !probe.wantsConnection)
        #expect(probe.end() == .init(resent: 2))
        #expect(probe.openAndSend() == [0, 1, 2])
        #expect(probe.silence().presumed == [0, 1, 2])
    }

    @Test("An answer that was on its way counts though the connection is ending; the next one is as good as new")
    func answerWhileEnding() {
        let probe = LaneProbe()
        probe.publish(3)
        #expect(probe.openAndSend() == [0, 1, 2])
        probe.lane.ending()
        #expect(probe.answer(.invalidToken, 1) == .init(confirmed: [0], refused: 1, resent: 1))
        #expect(probe.openAndSend() == [2])
        #expect(probe.silence().presumed == [2])
    }

    @Test("A connection that is ending is not replaced: the next one follows its end")
    func noSuccessorWhileEnding() {
        let probe = LaneProbe(connectionMaxAge: .seconds(10))
        probe.publish(1)
        probe.open()
        probe.send()
        probe.now = probe.now + .seconds(20)
        #expect(probe.wantsSuccessor)
        probe.lane.ending()
        #expect(!probe.wantsSuccessor)
    }

    @Test("A failed attempt to connect settles nothing and waits longer each time")
    func failedAttempts() {
        let probe = LaneProbe(unknownFate: .presume)
        probe.publish(2)
        var last = Duration.zero
        for _ in 0..<4 {
            #expect(probe.wantsConnection)
            probe.lane.connecting()
            #expect(!probe.wantsConnection)
            #expect(probe.end() == .init())
            guard case .waiting(let until) = probe.phase else {
                Issue.record("no wait after a failure")
                return
            }
            let wait = Duration.nanoseconds(until.nanoseconds - probe.now.nanoseconds)
            #expect(wait > last)
            last = wait
            probe.now = until
        }
    }

    @Test("Settling something ends the row of failures")
    func progressResetsBackoff() {
        let probe = LaneProbe(loneCloses: 10)
        probe.publish()
        for _ in 0..<6 {
            _ = probe.openAndSend()
            _ = probe.end()
        }
        #expect(probe.openAndSend() == [0])
        #expect(probe.silence().presumed == [0])
        _ = probe.end()
        #expect(probe.waitIsAtMost(.seconds(1)))
    }

    @Test("A refused certificate makes the lane wait; nothing was read, so all is sent again by any policy")
    func refusedCertificate() {
        for policy in UnknownFatePolicy.allCases {
            let probe = LaneProbe(unknownFate: policy)
            probe.publish(3)
            #expect(probe.openAndSend() == [0, 1, 2])
            #expect(probe.end(.certificateRefused) == .init(resent: 3))
            #expect(!probe.wantsConnection)
            #expect(probe.openAndSend() == [0, 1, 2])
            #expect(probe.end(.certificateRefused) == .init(resent: 3))
        }
    }

    @Test("A certificate refused after the window takes back what silence made us presume")
    func certificateRefusedLate() {
        let probe = LaneProbe()
        probe.publish(3)
        probe.open()
        probe.send()
        #expect(probe.silence().presumed == [0, 1, 2])
        probe.evict()
        probe.publish(1)
        probe.send()
        #expect(probe.end(.certificateRefused) == .init(presumedWrong: [0, 1, 2], resent: 4))
        #expect(probe.openAndSend() == [0, 1, 2, 3])
    }

    @Test("Notifications that an earlier connection settled are not taken back by a refused certificate")
    func earlierConnectionStays() {
        let probe = LaneProbe()
        probe.publish(2)
        probe.open()
        probe.send()
        _ = probe.silence()
        _ = probe.end(.closedHere)
        probe.publish(1)
        #expect(probe.openAndSend() == [2])
        #expect(probe.end(.certificateRefused).presumedWrong == [])
    }

    @Test("After an attempt that failed no long wait is needed once another lane has a connection")
    func gatewayAnswers() {
        let probe = LaneProbe()
        probe.publish(1)
        for _ in 0..<6 {
            if case .waiting(let until) = probe.phase { probe.now = until }
            probe.lane.connecting()
            _ = probe.end()
        }
        let soon = probe.now + probe.lane.limits.backoff.floor
        probe.lane.gatewayAnswers(now: probe.now)
        #expect(probe.phase == .waiting(until: soon))
        // A wait that a notification caused stays as long as it is.
        probe.now = soon
        #expect(probe.openAndSend() == [0])
        _ = probe.answer(.processingError, 0)
        let phase = probe.phase
        probe.lane.gatewayAnswers(now: probe.now)
        #expect(probe.phase == phase && phase != .disconnected)
    }

    @Test("Closing here needs no back-off")
    func closedHere() {
        let probe = LaneProbe()
        probe.publish(2)
        probe.open()
        probe.send()
        #expect(probe.end(.closedHere) == .init(resent: 2))
        #expect(probe.wantsConnection)
    }

    @Test("While the budget is spent no connection is wanted")
    func postponed() {
        let probe = LaneProbe()
        probe.publish()
        probe.lane.postpone(until: probe.now + .seconds(3))
        #expect(!probe.wantsConnection)
        probe.now = probe.now + .seconds(3)
        #expect(probe.wantsConnection)
    }

    @Test("A lane with nothing to send wants no connection")
    func idle() {
        #expect(!LaneProbe().wantsConnection)
    }
}

extension LaneProbe {
    fileprivate func waitIsAtMost(_ limit: Duration) -> Bool {
        guard case .waiting(let until) = phase else { return false }
        return until <= now + limit
    }
}
