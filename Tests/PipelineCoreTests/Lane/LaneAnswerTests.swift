import APNsProtocol
import Testing

@testable import PipelineCore

/// Conclusions from an error response.
@Suite struct LaneAnswerTests {
    private let probe = LaneProbe()

    private func sent(_ count: Int) {
        probe.publish(count)
        probe.open()
        probe.send()
    }

    @Test("An error response confirms what came before, rejects the named one, and what came after is sent again")
    func errorResponse() {
        sent(5)
        let verdict = probe.answer(.invalidToken, 2)
        #expect(verdict == .init(confirmed: [0, 1], refused: 2, resent: 2))
        #expect(probe.phase == .disconnected)
        #expect(probe.openAndSend() == [3, 4])
    }

    @Test("After an answered error the next connection needs no back-off")
    func noBackoffAfterAnswer() {
        sent(2)
        _ = probe.answer(.invalidPayloadSize, 0)
        #expect(probe.wantsConnection)
    }

    @Test("Status 10 confirms the named one as well and sends again only what follows it")
    func shutdown() {
        sent(4)
        #expect(probe.answer(.shutdown, 1) == .init(confirmed: [0, 1], resent: 2))
        #expect(probe.openAndSend() == [2, 3])
    }

    @Test("Status 10 that names nothing blames no notification, however often: an end of stream with back-off")
    func shutdownWithoutName() {
        sent(1)
        for _ in 0..<20 {
            #expect(probe.answer(.shutdown, identifier: 0) == .init(resent: 1))
            #expect(!probe.wantsConnection)
            #expect(probe.openAndSend() == [0])
        }
        #expect(probe.silence().presumed == [0])
    }

    @Test("A processing error is sent again after a back-off, and rejected after the set number of attempts")
    func processingError() {
        sent(3)
        #expect(probe.answer(.processingError, 1) == .init(confirmed: [0], resent: 2))
        #expect(!probe.wantsConnection)
        #expect(probe.openAndSend() == [1, 2])
        #expect(probe.answer(.processingError, 1) == .init(resent: 2))
        #expect(probe.openAndSend() == [1, 2])
        #expect(probe.answer(.processingError, 1) == .init(refused: 1, resent: 1))
        #expect(probe.openAndSend() == [2])
    }

    @Test("A processing error is rejected after the set time, too, however few attempts that were")
    func processingErrorForLong() {
        sent(3)
        #expect(probe.answer(.processingError, 1) == .init(confirmed: [0], resent: 2))
        #expect(probe.openAndSend() == [1, 2])
        probe.now = probe.now + (LaneProbe.retryFor - .seconds(10))
        #expect(probe.answer(.processingError, 2) == .init(confirmed: [1], resent: 1))
        #expect(probe.openAndSend() == [2])
        probe.now = probe.now + LaneProbe.retryFor
        #expect(probe.answer(.processingError, 2) == .init(refused: 2, resent: 0))
    }

    /// The wait that is on, in whole seconds; nil: none.
    private var waitSeconds: UInt64? {
        guard case .waiting(let until) = probe.phase else { return nil }
        return (until.nanoseconds - probe.now.nanoseconds + 500_000_000) / 1_000_000_000
    }

    @Test("A refused topic makes the lane wait, longer each time; nothing is rejected, and success ends the row")
    func refusedTopic() {
        sent(2)
        #expect(probe.answer(.missingTopic, 0) == .init(resent: 2))
        #expect(waitSeconds == 20 && !probe.wantsConnection)
        #expect(probe.openAndSend() == [0, 1])
        #expect(probe.answer(.invalidTopicSize, 0) == .init(resent: 2))
        #expect(waitSeconds == 35)
        #expect(probe.openAndSend() == [0, 1])
        #expect(probe.silence().presumed == [0, 1])
        probe.publish(1)
        #expect(probe.send() == [2])
        #expect(probe.answer(.missingTopic, 2) == .init(resent: 1))
        #expect(waitSeconds == 20)
    }

    @Test("A processing error ends the row of refusals only if it proves that something was taken")
    func processingErrorAfterRefusedTopic() {
        sent(2)
        _ = probe.answer(.missingTopic, 0)
        _ = probe.openAndSend()
        _ = probe.answer(.processingError, 0)
        _ = probe.openAndSend()
        _ = probe.answer(.missingTopic, 0)
        #expect(waitSeconds == 35)
        _ = probe.openAndSend()
        #expect(probe.answer(.processingError, 1).confirmed == [0])
        _ = probe.openAndSend()
        _ = probe.answer(.missingTopic, 1)
        #expect(waitSeconds == 20)
    }

    @Test("An unexplained refusal goes once more alone, then counts", arguments: [APNsStatus.unknown, .protocolError])
    func unexplained(status: APNsStatus) {
        sent(4)
        #expect(probe.answer(status, 1) == .init(confirmed: [0], resent: 3))
        #expect(probe.openAndSend() == [1])
        #expect(probe.answer(status, 1) == .init(refused: 1, resent: 0))
        #expect(probe.openAndSend() == [2, 3])
    }

    @Test("One that is taken when it goes alone lets the others follow")
    func unexplainedOnce() {
        sent(3)
        _ = probe.answer(.unknown, 0)
        #expect(probe.openAndSend() == [0])
        #expect(probe.silence().presumed == [0])
        #expect(probe.send() == [1, 2])
    }

    @Test("A processing error before does not count as having gone alone")
    func retriedIsNotAlone() {
        sent(2)
        _ = probe.answer(.processingError, 0)
        #expect(probe.openAndSend() == [0, 1])
        #expect(probe.answer(.unknown, 0).refused == nil)
        #expect(probe.openAndSend() == [0])
        #expect(probe.answer(.unknown, 0).refused == 0)
    }

    @Test("A refusal is behind an acceptance only if something before it was sent on its connection")
    func behindAcceptance() {
        sent(3)
        #expect(isBehindAcceptance(1) == true)
        #expect(probe.openAndSend() == [2])
        #expect(isBehindAcceptance(2) == false, "the acceptance was on the connection before")
    }

    @Test("A notification that was dropped before it was sent was not accepted")
    func behindTheDropped() {
        for _ in 0..<2 { probe.publish() }
        probe.open()
        _ = probe.lane.takeWaiting(assignment: 1) { $0.token == 0 }
        #expect(probe.send() == [1])
        #expect(isBehindAcceptance(1) == false)
    }

    @Test(
        "The log letting go of what was dropped proves no acceptance; of what was sent it does",
        arguments: [true, false]
    )
    func behindTheForgotten(isDropped: Bool) {
        // Large, so that the log lets go of whole chunks.
        probe.publish(60, bytes: 1000)
        probe.lane.retainedShare = 0
        probe.open()
        probe.now = probe.now + .seconds(11)
        if isDropped {
            _ = probe.lane.takeWaiting(assignment: 1) { $0.token < 60 }
        } else {
            probe.send()
            _ = probe.silence()
        }
        probe.evict()
        #expect(probe.keptEntries == 0)
        probe.publish()
        #expect(probe.send() == [60])
        #expect(isBehindAcceptance(60) == !isDropped)
        probe.publish()
        #expect(probe.openAndSend() == [61])
        #expect(isBehindAcceptance(61) == false, "what was let go of was on the connection before")
    }

    @Test("A rest in which the log lets go of nothing proves no acceptance")
    func behindARest() {
        probe.open()
        probe.rest()
        probe.now = probe.now + RestWatch.patience
        probe.rest()
        probe.publish()
        #expect(probe.send() == [0])
        #expect(isBehindAcceptance(0) == false)
    }

    @Test("A refused certificate takes all back that was presumed, also if the log let go of what was dropped before")
    func refusedBehindTheForgotten() {
        let probe = LaneProbe(retainedBytes: 0)
        probe.publish(60, bytes: 1000)
        probe.open()
        _ = probe.lane.takeWaiting(assignment: 1) { $0.token < 60 }
        probe.evict()
        #expect(probe.keptEntries == 0)
        probe.publish()
        #expect(probe.send() == [60])
        #expect(probe.silence().presumed == [60])
        #expect(probe.end(.certificateRefused).presumedWrong == [60])
    }

    private func isBehindAcceptance(_ ordinal: UInt32) -> Bool? {
        let response = ErrorResponse(status: .invalidToken, identifier: probe.identifier(of: ordinal))
        let standing = probe.lane.answered(response, now: probe.now, random: 0).refused?.standing
        return standing.map { $0 == .afterAcceptance }
    }

    @Test("A late answer sends again what was presumed and followed the named one")
    func lateAnswer() {
        sent(4)
        #expect(probe.silence().presumed == [0, 1, 2, 3])
        probe.evict()
        let verdict = probe.answer(.invalidToken, 1)
        #expect(verdict == .init(presumedWrong: [2, 3], refused: 1, wasPresumed: true, resent: 2))
        #expect(probe.openAndSend() == [2, 3])
    }

    @Test("A notification dropped with its partition, before or after it was presumed, was not presumed wrongly")
    func lateAnswerAboutTheDropped() {
        sent(4)
        _ = probe.silence()
        probe.lane.forget(assignment: 1)
        let verdict = probe.lane.answered(
            .init(status: .invalidToken, identifier: probe.identifier(of: 1)),
            now: probe.now,
            random: 0
        )
        #expect(probe.lane.log.liveCount(in: verdict.presumedWrong) == 0)
    }

    @Test("A late shutdown sends again what was presumed after the named one")
    func lateShutdown() {
        sent(3)
        _ = probe.silence()
        #expect(probe.answer(.shutdown, 0) == .init(presumedWrong: [1, 2], resent: 2))
    }

    @Test("An answer can name nothing of an earlier connection")
    func earlierConnection() {
        sent(3)
        _ = probe.answer(.invalidToken, 2)
        // Not evicted: the log still knows 0 and 1.
        probe.publish(2)
        #expect(probe.openAndSend() == [3, 4])
        #expect(probe.answer(.invalidToken, 0) == .init(resent: 2))
        #expect(probe.openAndSend() == [3, 4])
    }

    @Test("An answer can name nothing that was not handed over")
    func notHandedOver() {
        sent(2)
        probe.publish(3)
        #expect(probe.answer(.invalidToken, 4) == .init(resent: 2))
    }

    @Test("An answer that comes after the end of its connection says nothing")
    func answerAfterEnd() {
        sent(2)
        _ = probe.end()
        #expect(probe.answer(.invalidToken, 0) == .init())
    }

    @Test("Identifiers wrap from 2³²−1 to 1 and answers still find their notification")
    func wrapAround() {
        let probe = LaneProbe(firstSequence: UInt64(UInt32.max) - 2)
        probe.publish(5)
        #expect((0..<5).map(probe.identifier) == [.max - 1, .max, 1, 2, 3])
        #expect(probe.openAndSend() == [0, 1, 2, 3, 4])
        #expect(probe.answer(.invalidToken, 2) == .init(confirmed: [0, 1], refused: 2, resent: 2))
    }
}
