import Testing

@testable import PipelineCore

/// A lane whose certificate is replaced.
@Suite struct LaneRotationTests {
    /// A lane with one notification in flight over a connection with the first certificate.
    private func makeProbe() -> LaneProbe {
        let probe = LaneProbe()
        probe.publish()
        probe.open(edition: 1)
        probe.send()
        return probe
    }

    private func note(_ edition: UInt64, _ probe: LaneProbe, random: UInt64 = 0) {
        probe.lane.noteEdition(edition, now: probe.now, random: random)
    }

    /// A successor with a certificate is opened.
    private func succeed(_ edition: UInt64, _ probe: LaneProbe) {
        probe.lane.successorConnecting(edition: edition)
        probe.lane.successorOpened(now: probe.now)
    }

    private func endTrial(_ probe: LaneProbe) { probe.lane.endTrial(now: probe.now) }

    @Test("A connection with the present certificate goes on; with a former one it is replaced within the spread")
    func outdated() {
        let probe = makeProbe()
        note(1, probe)
        #expect(!probe.wantsSuccessor)
        note(2, probe, random: .max)
        #expect(!probe.wantsSuccessor)
        probe.now = probe.now + ConnectionRotation.spread
        #expect(probe.wantsSuccessor)
    }

    @Test("A successor with another certificate takes over after its trial; the old connection sends meanwhile")
    func trial() throws {
        let probe = makeProbe()
        note(2, probe)
        #expect(probe.wantsSuccessor)
        succeed(2, probe)
        endTrial(probe)
        probe.publish()
        #expect(probe.send() == [1] && !probe.isRetiring)
        probe.now = probe.now + ConnectionRotation.trial
        endTrial(probe)
        probe.publish()
        #expect(probe.isRetiring && probe.send() == [])
        let identifier = try #require(probe.takeSentinel())
        #expect(probe.answer(.missingDeviceToken, identifier: identifier).confirmed == [0, 1])
        probe.open(edition: 2)
        #expect(probe.send() == [2])
        note(2, probe)
        #expect(!probe.wantsSuccessor)
    }

    @Test("A successor with the same certificate takes over at once")
    func sameCertificate() {
        let probe = makeProbe()
        succeed(1, probe)
        #expect(probe.isRetiring)
    }

    @Test("After a refused certificate the old connection goes on, and the next successor waits for longer than usual")
    func refused() {
        let probe = makeProbe()
        note(2, probe)
        succeed(2, probe)
        probe.lane.successorFailed(now: probe.now, random: 0, isRefused: true)
        probe.now = probe.now + .seconds(9)
        endTrial(probe)
        note(2, probe)
        probe.publish()
        #expect(!probe.isRetiring && !probe.wantsSuccessor && probe.send() == [1])
        probe.now = probe.now + .seconds(1)
        #expect(probe.wantsSuccessor)
    }

    @Test("A newer certificate is tried at once, though the former one was refused")
    func newer() {
        let probe = makeProbe()
        note(2, probe)
        probe.lane.successorFailed(now: probe.now, random: .max, isRefused: true)
        #expect(!probe.wantsSuccessor)
        note(3, probe)
        #expect(probe.wantsSuccessor)
    }

    @Test("Each failure of a successor doubles the wait for the next; failures of a former certificate do not count")
    func growingWaits() {
        let probe = makeProbe()
        note(2, probe)
        for seconds in [1, 2, 4] {
            probe.lane.successorFailed(now: probe.now, random: .max)
            note(2, probe)
            probe.now = probe.now + .milliseconds(1000 * seconds - 1)
            #expect(!probe.wantsSuccessor)
            probe.now = probe.now + .milliseconds(1)
            #expect(probe.wantsSuccessor)
        }
        probe.lane.successorFailed(now: probe.now, random: .max)
        note(3, probe)
        probe.lane.successorFailed(now: probe.now, random: .max)
        #expect(!probe.wantsSuccessor)
        probe.now = probe.now + .seconds(1)
        #expect(probe.wantsSuccessor)
    }

    @Test("Failures of a former certificate do not count either when a newer one comes while the next successor is due")
    func newerWhileDue() {
        let probe = makeProbe()
        note(2, probe)
        for _ in 0..<3 { probe.lane.successorFailed(now: probe.now, random: .max) }
        probe.now = probe.now + .seconds(4)
        #expect(probe.wantsSuccessor)
        note(3, probe, random: .max)
        #expect(probe.wantsSuccessor, "its time does not move")
        probe.lane.successorFailed(now: probe.now, random: .max)
        #expect(!probe.wantsSuccessor)
        probe.now = probe.now + .seconds(1)
        #expect(probe.wantsSuccessor)
    }

    @Test("A lane whose connection has ended goes on over a successor that is ready, unless a wait is due")
    func adopts() {
        for (isReady, end, isAdopted) in [
            (true, ConnectionEnd.closedHere, true), (false, .closedHere, false), (true, .failed, false),
        ] {
            let probe = makeProbe()
            probe.lane.successorConnecting(edition: 2)
            if isReady { probe.lane.successorOpened(now: probe.now) }
            _ = probe.end(end)
            let isWaiting = probe.phase != .disconnected
            #expect(probe.adoptsSuccessor == isAdopted)
            #expect((probe.phase == .connecting) == isAdopted && isWaiting == (end == .failed))
            #expect(!probe.adoptsSuccessor, "it is gone")
        }
    }

    @Test("A connection that a successor has taken over has its edition")
    func adoptedEdition() {
        let probe = makeProbe()
        succeed(2, probe)
        _ = probe.end(.closedHere)
        #expect(probe.adoptsSuccessor)
        probe.lane.opened(now: probe.now, random: 0)
        let edition = probe.lane.rotation.edition
        #expect(edition == 2)
    }

    @Test("The reason of a rotation is told once, when the old connection retires for its successor")
    func told() {
        let probe = makeProbe()
        note(2, probe)
        probe.lane.retire()
        #expect(probe.rotation == nil, "it retires for none")
        let other = makeProbe()
        note(2, other)
        succeed(2, other)
        #expect(other.rotation == nil, "on trial")
        other.now = other.now + ConnectionRotation.trial
        endTrial(other)
        #expect(other.rotation == .credential)
        #expect(other.rotation == nil)
    }

    @Test("The end of the old connection ends the trial")
    func endedMeanwhile() {
        let probe = makeProbe()
        note(2, probe)
        succeed(2, probe)
        _ = probe.end(.closedHere)
        probe.open(edition: 2)
        probe.now = probe.now + ConnectionRotation.trial
        endTrial(probe)
        #expect(!probe.isRetiring)
    }
}
