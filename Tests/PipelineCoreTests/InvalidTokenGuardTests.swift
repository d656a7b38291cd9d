import APNsProtocol
import Testing

@testable import PipelineCore

/// A wrong gateway must not wipe the user base.
@Suite struct InvalidTokenGuardTests {
    private var tokenGuard = InvalidTokenGuard(share: 0.2, sample: 10)

    private mutating func note(accepted: Int = 0, invalid: Int = 0) {
        tokenGuard.noteAccepted(accepted)
        for _ in 0..<invalid { tokenGuard.noteInvalid() }
    }

    @Test("It trips when the share of invalid tokens is exceeded, not when it is reached")
    mutating func share() {
        note(accepted: 8, invalid: 2)
        #expect(!tokenGuard.hasTripped)
        note(invalid: 1)
        #expect(tokenGuard.hasTripped)
    }

    @Test("Below the sample nothing is judged, however bad it looks")
    mutating func sample() {
        note(invalid: 9)
        #expect(!tokenGuard.hasTripped)
        note(invalid: 1)
        #expect(tokenGuard.hasTripped)
    }

    @Test("It recovers when tokens are accepted again")
    mutating func recovery() {
        note(invalid: 10)
        #expect(tokenGuard.hasTripped)
        note(accepted: 40)
        #expect(!tokenGuard.hasTripped)
    }

    @Test("A long good past does not hide that a gateway calls every token invalid now")
    mutating func recentAnswersCount() {
        note(accepted: 1_000_000)
        note(invalid: 10)
        #expect(tokenGuard.hasTripped)
    }

    @Test("A long bad past does not keep it tripped once everything is accepted")
    mutating func oldAnswersAreForgotten() {
        note(invalid: 1_000_000)
        note(accepted: 100)
        #expect(!tokenGuard.hasTripped)
    }

    @Test("With a share of 1 it never trips, with 0 at the first invalid token of a full sample")
    mutating func extremes() {
        var never = InvalidTokenGuard(share: 1, sample: 1)
        for _ in 0..<100 { never.noteInvalid() }
        #expect(!never.hasTripped)
        var always = InvalidTokenGuard(share: 0, sample: 10)
        always.noteAccepted(9)
        #expect(!always.hasTripped)
        always.noteInvalid()
        #expect(always.hasTripped)
    }
}

/// What a lane does with a verdict on a token that is not trusted.
@Suite struct UntrustedVerdictTests {
    private let probe = LaneProbe()

    private func answer(_ status: APNsStatus, _ ordinal: UInt32, isTrusted: Bool = false) -> LaneVerdict {
        probe.lane.answered(
            .init(status: status, identifier: probe.identifier(of: ordinal)),
            now: probe.now,
            random: .max / 2,
            trustsTokenVerdicts: isTrusted
        )
    }

    private func sent(_ count: Int) {
        probe.publish(count)
        probe.open()
        probe.send()
    }

    @Test("While verdicts on tokens are not trusted, such a verdict parks the topic and refuses nobody")
    func parksInsteadOfRefusing() {
        sent(4)
        let verdict = answer(.invalidToken, 1)
        #expect(verdict.refused == nil)
        #expect(verdict.parked)
        #expect(probe.isParked)
        #expect(verdict.confirmed.count == 1)
        #expect(verdict.resent == 3)
        #expect(!probe.wantsConnection)
        #expect(probe.openAndSend() == [1, 2, 3])
    }

    @Test("An invalid token size parks too while it is not trusted")
    func tokenSizeParks() {
        sent(2)
        #expect(answer(.invalidTokenSize, 0).parked)
        #expect(probe.openAndSend() == [0, 1])
    }

    @Test("Once trusted again, the same verdict refuses the token and ends the parking")
    func trustedAgain() {
        sent(2)
        _ = answer(.invalidToken, 0)
        _ = probe.openAndSend()
        let verdict = answer(.invalidToken, 0, isTrusted: true)
        #expect(verdict.refused?.rule == .rejectToken)
        #expect(!probe.isParked)
        #expect(probe.openAndSend() == [1])
    }

    @Test("Distrust concerns tokens alone: a payload that is refused is refused")
    func otherVerdictsStand() {
        sent(2)
        let verdict = answer(.invalidPayloadSize, 0)
        #expect(verdict.refused?.rule == .deadLetter)
        #expect(!probe.isParked)
    }
}
