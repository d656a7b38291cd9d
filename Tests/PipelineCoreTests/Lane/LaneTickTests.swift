import APNsProtocol
import Testing

@testable import PipelineCore

/// The decisions of a lane at a tick.
@Suite struct LaneTickTests {
    private func makeProbe(maxAge: Duration? = nil) -> LaneProbe {
        let probe = LaneProbe(connectionMaxAge: maxAge)
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        return probe
    }

    private func tick(_ probe: LaneProbe) -> LaneStateMachine.Tick { probe.lane.beginTick(now: probe.now) }

    @Test("A tick does all while something is unsettled, looks at an open connection's age else, and nothing without")
    func extent() {
        let probe = LaneProbe()
        #expect(tick(probe) == .nothing)
        probe.publish()
        #expect(tick(probe) == .all)
        #expect(probe.openAndSend() == [0])
        #expect(tick(probe) == .all)
        #expect(probe.silence().presumed == [0])
        #expect(tick(probe) == .age)
        probe.lane.retire()
        #expect(tick(probe) == .all)
        _ = probe.end(.closedHere)
        #expect(tick(probe) == .nothing)
    }

    @Test("Silence settles nothing before the window is over, and everything then")
    func silence() {
        let probe = makeProbe()
        probe.now = probe.now + .milliseconds(1999)
        #expect(probe.lane.passSilence(now: probe.now) == nil)
        probe.now = probe.now + .milliseconds(1)
        #expect(probe.lane.passSilence(now: probe.now)?.presumed == 0..<2)
        #expect(probe.isDrained)
    }

    @Test("A connection frees its buffers once after something was written, when the peer has it and nothing waits")
    func buffers() {
        let probe = LaneProbe()
        #expect(!probe.freesBuffers)
        probe.open()
        #expect(probe.freesBuffers && !probe.freesBuffers, "those of the handshake")
        probe.publish()
        #expect(!probe.freesBuffers)
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 1000, now: probe.now)
        #expect(!probe.freesBuffers, "it is not acknowledged")
        probe.lane.acknowledged(streamBytes: 1000, now: probe.now)
        probe.publish()
        #expect(!probe.freesBuffers, "something waits")
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 2000, now: probe.now)
        probe.lane.acknowledged(streamBytes: 2000, now: probe.now)
        #expect(probe.freesBuffers && !probe.freesBuffers)
    }

    @Test("An unanswered sentinel is due by its limit, and a peer without acknowledgement by its own")
    func overdue() {
        let probe = LaneProbe()
        probe.publish()
        probe.open()
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 1000, now: probe.now)
        let written = probe.now
        probe.lane.retire()
        #expect(probe.takeSentinel() != nil && probe.overdue == nil)
        probe.now = written + .seconds(5)
        #expect(probe.overdue == .sentinelUnanswered)
        probe.now = written + .seconds(10)
        #expect(probe.overdue == .sentinelUnanswered, "it comes first")
        _ = probe.end(.closedHere)
        #expect(probe.overdue == nil)
        probe.open()
        probe.send(flush: false)
        probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 1000, now: probe.now)
        probe.now = probe.now + .milliseconds(9999)
        #expect(probe.overdue == nil)
        probe.now = probe.now + .milliseconds(1)
        #expect(probe.overdue == .peerDead)
        let verdict = probe.lane.end(.peerDead, now: probe.now, random: 0)
        #expect(verdict.resent == 1 && !probe.wantsConnection, "there is a back-off")
    }

    @Test("An end by age has no back-off, and takes nothing back")
    func endings() {
        for due in [LaneStateMachine.Due.retired, .idle] {
            let probe = makeProbe()
            #expect(probe.silence().presumed == [0, 1])
            let verdict = probe.lane.end(due, now: probe.now, random: .max)
            #expect(verdict.resent == 0 && probe.phase == .disconnected)
            probe.publish()
            #expect(probe.wantsConnection)
        }
    }

    @Test("A connection that retires ends when all is settled, one that is not used when it was idle for long")
    func ends() {
        let probe = makeProbe()
        #expect(probe.age() == .goesOn)
        probe.lane.retire()
        #expect(probe.age() == .goesOn)
        #expect(probe.silence().presumed == [0, 1])
        #expect(probe.age() == .ends(.retired))
        let idle = makeProbe()
        #expect(idle.silence().presumed == [0, 1])
        idle.now = idle.now + .seconds(3600)
        #expect(idle.age() == .ends(.idle))
    }

    @Test("An old connection gets one successor, none while all is held, and is not idle beside it")
    func successor() {
        let probe = makeProbe(maxAge: .seconds(100))
        #expect(probe.silence().presumed == [0, 1])
        probe.now = probe.now + .seconds(3600)
        probe.lane.hold(true)
        #expect(probe.age() == .ends(.idle))
        probe.lane.hold(false)
        #expect(probe.age() == .wantsSuccessor)
        probe.lane.postponeSuccessor(until: probe.now + .seconds(1))
        #expect(probe.age() == .ends(.idle))
        probe.now = probe.now + .seconds(1)
        #expect(probe.age() == .wantsSuccessor)
        probe.lane.successorConnecting(edition: 0)
        #expect(probe.age() == .goesOn)
    }

    @Test("Something that waits, and a sentinel that is to be written, ask for a pump")
    func pump() {
        let probe = makeProbe()
        #expect(!probe.wantsPump)
        probe.lane.retire()
        #expect(probe.wantsPump)
        #expect(probe.takeSentinel() != nil && !probe.wantsPump)
        probe.publish()
        #expect(probe.wantsPump)
    }

    @Test("Little waits for more that is at hand, unless it needs a connection")
    func littleWaits() {
        let probe = LaneProbe()
        func isWorthIt(_ isMoreAtHand: Bool) -> Bool { probe.lane.isWorthPumping(isMoreAtHand: isMoreAtHand) }
        #expect(!isWorthIt(false))
        probe.publish()
        #expect(isWorthIt(true))
        probe.open()
        #expect(!isWorthIt(true) && isWorthIt(false))
        probe.publish(1, bytes: FrameLog.chunkBytes / 4)
        #expect(isWorthIt(true))
    }

    @Test("A quarter of a record does not wait for more, a byte less does", arguments: [(0, true), (1, false)])
    func quarter(less: Int, isWorthIt: Bool) {
        let probe = LaneProbe()
        probe.publish(1, bytes: FrameLog.chunkBytes / 4 - less)
        probe.open()
        let isWritten = probe.lane.isWorthPumping(isMoreAtHand: true)
        #expect(isWritten == isWorthIt)
    }

    @Test("While all is held nothing is written, no sentinel either, and no connection is opened")
    func held() {
        let probe = makeProbe()
        probe.lane.hold(true)
        probe.publish()
        #expect(probe.send() == [])
        probe.lane.retire()
        #expect(probe.takeSentinel() == nil)
        _ = probe.end(.closedHere)
        #expect(!probe.wantsConnection)
        probe.lane.hold(false)
        #expect(probe.wantsConnection)
        #expect(probe.openAndSend() == [0, 1, 2])
    }
}
