import Testing

@testable import PipelineCore

/// A lane that keeps a connection open though nothing is to be sent.
@Suite struct LaneWarmthTests {
    private let probe = LaneProbe()

    private func warm() { probe.lane.keepWarm(now: probe.now) }

    /// Lets time pass, and says the wish.
    private func pass(_ duration: Duration) {
        probe.now = probe.now + duration
        warm()
    }

    /// Opens a connection that fails at once, with the longest wait behind it.
    private func fail() {
        probe.lane.connecting()
        probe.lane.opened(now: probe.now, random: 0)
        _ = probe.lane.ended(.failed, now: probe.now, random: .max)
    }

    private func tick() -> LaneStateMachine.Tick { probe.lane.beginTick(now: probe.now) }

    private func isOnlyWarm() -> Bool { probe.lane.isOnlyWarm(now: probe.now) }

    /// Lets time pass until the wish has lapsed, and the lane notice it.
    private func lapse() {
        probe.now = probe.now + WarmConnection.lease
        _ = tick()
        #expect(!probe.wantsConnection)
    }

    private func purpose(isFirst: Bool = false) -> ConnectionBudget.Purpose { probe.lane.purpose(isFirst: isFirst) }

    @Test("A connection is wanted without any notification while the wish holds, and ticks look after it")
    func wanted() {
        #expect(!probe.wantsConnection && probe.isAtRest)
        warm()
        #expect(probe.wantsConnection && tick() == .all && !probe.isAtRest)
        probe.now = probe.now + WarmConnection.lease
        #expect(!probe.wantsConnection && !probe.isAtRest && tick() == .nothing && probe.isAtRest)
        warm()
        probe.open()
        #expect(!probe.wantsConnection && tick() == .age)
        #expect(probe.freesBuffers && probe.isAtRest)
    }

    @Test("None is wanted while all is held, the topic is suspended or probed, or the lane ends")
    func refused() {
        warm()
        probe.lane.hold(true)
        #expect(!probe.wantsConnection)
        probe.lane.hold(false)
        for admission in [Admission.none, .one] {
            probe.lane.admit(admission)
            #expect(!probe.wantsConnection)
        }
        probe.lane.admit(.all)
        #expect(probe.wantsConnection)
        probe.lane.finish()
        #expect(!probe.wantsConnection)
    }

    @Test("The connection carries nothing by itself, no sentinel either, and takes the first notification at once")
    func silent() {
        warm()
        probe.open()
        #expect(probe.send() == [] && probe.takeSentinel() == nil && !probe.wantsPump)
        pass(.seconds(3600))
        #expect(probe.send() == [] && probe.takeSentinel() == nil && probe.overdue == nil && !probe.standsStill)
        probe.publish()
        #expect(probe.send() == [0])
    }

    @Test("Idle for long it ends as any other, and another one is wanted without a wait")
    func idle() {
        probe.open()
        pass(.seconds(3600) - .milliseconds(1))
        #expect(!probe.isIdle && probe.age() == .goesOn)
        pass(.milliseconds(1))
        #expect(probe.age() == .ends(.idle))
        _ = probe.lane.end(.idle, now: probe.now, random: .max)
        #expect(probe.wantsConnection && purpose() == .successor)
    }

    @Test("It is replaced when it is old")
    func old() {
        let probe = LaneProbe(connectionMaxAge: .seconds(100))
        probe.open()
        probe.now = probe.now + .seconds(100)
        probe.lane.keepWarm(now: probe.now)
        #expect(probe.age() == .wantsSuccessor)
    }

    @Test("After ends in a row the next one waits ever longer, while a notification waits a second at most")
    func failures() {
        warm()
        for ends in 1...8 {
            fail()
            let wait = Duration.seconds(min(60, 1 << (ends - 1)))
            pass(wait - .milliseconds(1))
            #expect(!probe.wantsConnection)
            if ends > 1 {
                probe.publish()
                #expect(probe.wantsConnection, "a notification")
                _ = probe.lane.takeWaiting(assignment: 1) { _ in true }
                #expect(!probe.wantsConnection)
            }
            pass(.milliseconds(1))
            #expect(probe.wantsConnection)
        }
    }

    @Test("A notification in between makes the next end the first again, and so does half of the idle timeout")
    func use() {
        warm()
        for _ in 0..<5 {
            fail()
            pass(.seconds(60))
        }
        probe.publish()
        #expect(probe.openAndSend() == [0])
        #expect(probe.silence().presumed == [0])
        warm()
        _ = probe.lane.ended(.failed, now: probe.now, random: .max)
        pass(.seconds(1))
        #expect(probe.wantsConnection)
        for _ in 0..<5 {
            fail()
            pass(.seconds(60))
        }
        for (life, wait) in [(61, 60), (1799, 60), (1800, 1)] {
            probe.open()
            pass(.seconds(life))
            _ = probe.lane.ended(.failed, now: probe.now, random: .max)
            pass(.seconds(wait) - .milliseconds(1))
            #expect(!probe.wantsConnection)
            pass(.milliseconds(1))
            #expect(probe.wantsConnection)
        }
    }

    @Test("After a refused certificate the next one waits for long, while a notification waits a second at most")
    func refusedCertificate() {
        warm()
        for wait in [30, 60, 120, 240, 300] {
            probe.lane.connecting()
            _ = probe.lane.ended(.certificateRefused, now: probe.now, random: .max)
            pass(.seconds(1))
            #expect(!probe.wantsConnection)
            probe.publish()
            #expect(probe.wantsConnection, "a notification")
            _ = probe.lane.takeWaiting(assignment: 1) { _ in true }
            pass(.seconds(wait - 1) - .milliseconds(1))
            #expect(!probe.wantsConnection)
            pass(.milliseconds(1))
            #expect(probe.wantsConnection)
        }
    }

    @Test("A lane is only warm if no notification waits, is in flight, or was presumed on its connection")
    func needed() {
        #expect(!isOnlyWarm(), "it is not wanted")
        warm()
        #expect(isOnlyWarm())
        probe.publish()
        #expect(!isOnlyWarm())
        #expect(probe.openAndSend() == [0])
        #expect(!isOnlyWarm())
        #expect(probe.silence().presumed == [0])
        warm()
        #expect(!isOnlyWarm(), "a refused certificate brings it back")
        probe.lane.forget(assignment: 1)
        #expect(isOnlyWarm())
    }

    @Test(
        "A connection begun for warmth stays so when the wish lapses: a notification waits a second after its end",
        arguments: [false, true],
        [ConnectionEnd.failed, .certificateRefused]
    )
    func lapsed(isOpen: Bool, end: ConnectionEnd) {
        for _ in 0..<4 {
            warm()
            probe.lane.connecting()
            if isOpen { probe.lane.opened(now: probe.now, random: 0) }
            lapse()
            #expect(isOnlyWarm())
            _ = probe.lane.ended(end, now: probe.now, random: .max)
            let failures = probe.lane.failures
            #expect(failures == 1)
            probe.publish()
            #expect(!probe.wantsConnection)
            probe.now = probe.now + .seconds(1)
            #expect(probe.wantsConnection, "a notification")
            _ = probe.lane.takeWaiting(assignment: 1) { _ in true }
            probe.now = probe.now + .seconds(300)
        }
    }

    @Test("When the wish has lapsed a lane is not only warm if its connection was begun for a notification, or used")
    func lapsedWithWork() {
        warm()
        probe.open()
        lapse()
        #expect(isOnlyWarm())
        probe.publish()
        #expect(!isOnlyWarm(), "a notification waits")
        #expect(probe.send() == [0] && !isOnlyWarm())
        #expect(probe.silence().presumed == [0])
        probe.lane.forget(assignment: 1)
        #expect(!isOnlyWarm(), "it has carried something")
        _ = probe.end(.closedHere)
        for isWarm in [false, true] {
            if isWarm { warm() }
            probe.publish()
            probe.open()
            _ = probe.lane.takeWaiting(assignment: 1) { _ in true }
            #expect(isOnlyWarm() == isWarm)
            lapse()
            #expect(!isOnlyWarm())
            _ = probe.end(.closedHere)
        }
    }

    @Test("A connection that takes the place of one begun for warmth is only warm, too, when the wish has lapsed")
    func lapsedSuccessor() {
        warm()
        probe.open()
        lapse()
        probe.lane.successorConnecting(edition: 0)
        probe.lane.successorOpened(now: probe.now)
        _ = probe.lane.end(.retired, now: probe.now, random: 0)
        #expect(probe.adoptsSuccessor)
        #expect(isOnlyWarm())
        probe.lane.opened(now: probe.now, random: 0)
        #expect(isOnlyWarm())
    }

    @Test("Failures with a notification that waits are followed by the usual back-off")
    func withWork() {
        warm()
        probe.publish()
        for wait in [1, 2, 4, 8] {
            fail()
            pass(Duration.seconds(wait) - .milliseconds(1))
            #expect(!probe.wantsConnection)
            pass(.milliseconds(1))
            #expect(probe.wantsConnection)
        }
    }

    @Test("For the budget it can wait, unless it is the lane's first; a notification does not wait for its turn")
    func budget() {
        warm()
        #expect(purpose(isFirst: true) == .first && purpose() == .successor)
        probe.lane.postpone(until: probe.now + .seconds(3))
        #expect(!probe.wantsConnection && !probe.isWaitingForBudget && !probe.isAtRest)
        probe.publish()
        #expect(probe.wantsConnection && purpose(isFirst: true) == .first && purpose() == .reconnect)
        _ = probe.lane.takeWaiting(assignment: 1) { _ in true }
        pass(.seconds(3))
        #expect(probe.wantsConnection)
        probe.publish()
        probe.lane.postpone(until: probe.now + .seconds(3))
        #expect(!probe.wantsConnection && probe.isWaitingForBudget)
    }
}
