import APNsProtocol
import Testing

@testable import PipelineCore

/// Facts of a lane that its topic goes by.
@Suite struct LaneTopicTests {
    private let probe = LaneProbe()

    @Test("A lane is quiet without a connection and without anything in flight, whatever waits")
    func quiet() {
        probe.publish()
        #expect(probe.isQuiet)
        probe.lane.connecting()
        #expect(!probe.isQuiet)
        probe.lane.opened(now: probe.now, random: 0)
        #expect(!probe.isQuiet)
        probe.send()
        _ = probe.end()
        #expect(probe.isQuiet)
    }

    @Test("A lane is stranded if all that it has needs a new connection")
    func stranded() {
        #expect(probe.isStranded)
        probe.publish()
        #expect(probe.isStranded)
        probe.lane.connecting()
        #expect(!probe.isStranded)
        probe.lane.opened(now: probe.now, random: 0)
        #expect(!probe.isStranded)
        probe.send()
        #expect(!probe.isStranded)
        #expect(probe.silence().presumed == [0])
        #expect(probe.isStranded)
        probe.publish()
        _ = probe.end()
        #expect(probe.isStranded)
    }

    @Test("A lane waits for the budget if it was told to, something waits and may be sent")
    func budget() {
        probe.lane.postpone(until: probe.now + .seconds(1))
        #expect(!probe.waitsForBudget)
        probe.publish()
        #expect(probe.waitsForBudget)
        probe.lane.admit(.none)
        #expect(!probe.waitsForBudget)
        probe.lane.admit(.one)
        #expect(probe.waitsForBudget)
        probe.open()
        #expect(!probe.waitsForBudget)
    }

    @Test("A lane is under way from the attempt to connect until all is settled")
    func underWay() {
        probe.publish()
        #expect(!probe.isUnderWay)
        probe.lane.connecting()
        #expect(probe.isUnderWay)
        probe.lane.opened(now: probe.now, random: 0)
        #expect(!probe.isUnderWay)
        probe.send()
        #expect(probe.isUnderWay)
        #expect(probe.silence().presumed == [0])
        #expect(!probe.isUnderWay)
    }

    @Test("A lane is at rest when nothing is pending, its connection keeps no buffers, and none is to take over")
    func rest() {
        #expect(probe.isAtRest)
        probe.publish()
        #expect(!probe.isAtRest)
        #expect(probe.openAndSend() == [0])
        #expect(probe.silence().presumed == [0])
        #expect(!probe.isAtRest)
        #expect(probe.freesBuffers && probe.isAtRest)
        probe.lane.successorConnecting(edition: 1)
        #expect(!probe.isAtRest)
        probe.lane.successorFailed(now: probe.now, random: 0)
        #expect(probe.isAtRest)
    }

    @Test("A lane with work of which nothing settles stands still, and has a window more over an open connection")
    func standstill() {
        probe.publish()
        #expect(!probe.standsStill)
        probe.now = probe.now + .seconds(60)
        #expect(probe.standsStill && !probe.standsStill, "told once")
        let other = LaneProbe()
        other.publish()
        #expect(other.openAndSend() == [0] && !other.standsStill)
        other.now = other.now + .seconds(61)
        #expect(!other.standsStill)
        other.now = other.now + .seconds(1)
        #expect(other.standsStill)
    }

    @Test(
        "Without anything to send, while all is held, and in a wait for the budget a lane does not stand still",
        arguments: 0..<4
    )
    func excused(cause: Int) {
        if cause > 0 { probe.publish() }
        switch cause {
        case 1: probe.lane.admit(.none)
        case 2: probe.lane.hold(true)
        case 3: probe.lane.postpone(until: probe.now + .seconds(1))
        default: break
        }
        for _ in 0..<3 {
            #expect(!probe.standsStill)
            probe.now = probe.now + .seconds(61)
        }
    }

    @Test("A barrier is passed when all that was in flight has its outcome, or the lane gives it up")
    func barrier() throws {
        let none = probe.lane.barrier
        #expect(none == nil)
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        let some = probe.lane.barrier
        let barrier = try #require(some)
        probe.publish()
        #expect(probe.send() == [2])
        func hasPassed() -> Bool { probe.lane.hasPassed(barrier) }
        #expect(probe.answer(.invalidToken, 0) == .init(refused: 0, resent: 2))
        #expect(!hasPassed())
        #expect(probe.openAndSend() == [1, 2])
        #expect(probe.answer(.invalidToken, 2) == .init(confirmed: [1], refused: 2))
        #expect(hasPassed())
    }

    @Test("What waits has an end, and a first one")
    func waiting() {
        func end() -> UInt64? { probe.lane.waitingEnd }
        func first() -> UInt32? { probe.lane.firstWaiting?.token }
        #expect(end() == nil && first() == nil)
        probe.publish(4)
        #expect(end() == 4 && first() == 0)
        #expect(probe.openAndSend().count == 4 && end() == nil && first() == nil)
        #expect(probe.answer(.invalidToken, 1) == .init(confirmed: [0], refused: 1, resent: 2))
        #expect(end() == 4 && first() == 2)
    }

    @Test("A lane that is suspended ends its connection when all is settled, and opens no other")
    func suspended() {
        probe.publish()
        #expect(probe.openAndSend() == [0])
        probe.lane.successorConnecting(edition: 1)
        probe.lane.suspend()
        #expect(!probe.adoptsSuccessor && probe.isRetiring)
        #expect(probe.takeSentinel() != nil)
        _ = probe.end()
        probe.now = probe.now + .seconds(3600)
        #expect(!probe.wantsConnection)
        probe.lane.admit(.all)
        #expect(probe.wantsConnection)
    }
}
