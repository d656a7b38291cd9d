import Testing

@testable import PipelineCore

/// The notifications that a lane lets out while its topic does not work.
@Suite struct LaneAdmissionTests {
    private let probe = LaneProbe()

    @Test("Without admission nothing new goes, and the open connection comes to its end with a sentinel")
    func none() {
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        probe.lane.admit(.none)
        probe.publish(2)
        #expect(probe.send() == [])
        #expect(probe.takeSentinel() == probe.identifier(of: 2))
        let verdict = probe.answer(.missingDeviceToken, identifier: probe.identifier(of: 2))
        #expect(verdict.confirmed == [0, 1])
        #expect(probe.waiting == 2 && !probe.wantsConnection)
        probe.lane.admit(.all)
        #expect(probe.wantsConnection)
        #expect(probe.openAndSend() == [2, 3])
    }

    @Test("A probe lets one notification at a time out")
    func one() {
        probe.lane.admit(.one)
        probe.publish(3)
        #expect(probe.openAndSend() == [0])
        #expect(probe.send() == [])
        #expect(probe.silence().presumed == [0])
        #expect(probe.send() == [1])
        probe.lane.admit(.all)
        #expect(probe.send() == [2])
    }

    @Test("A probe does not wait for what the lane itself would wait for after its topic was refused")
    func refusedBefore() {
        probe.publish(1)
        #expect(probe.openAndSend() == [0])
        #expect(probe.answer(.missingTopic, 0) == .init(resent: 1))
        #expect(!probe.wantsConnection)
        probe.lane.admit(.none)
        #expect(!probe.wantsConnection)
        probe.lane.admit(.one)
        #expect(probe.wantsConnection)
    }

    @Test("A probe follows a refused certificate by the floor of the back-off at the earliest, and no later")
    func certificateRefused() {
        probe.publish(1)
        probe.open()
        _ = probe.end(.certificateRefused)
        probe.lane.admit(.none)
        probe.lane.admit(.one)
        let floor = probe.lane.limits.backoff.floor
        probe.now = probe.now + (floor - .nanoseconds(1))
        #expect(!probe.wantsConnection)
        probe.now = probe.now + .nanoseconds(1)
        #expect(probe.wantsConnection)
    }

    @Test("A probe waits as long as any connection after the network failed")
    func failedBefore() {
        probe.publish(1)
        #expect(probe.openAndSend() == [0])
        _ = probe.answer(.missingTopic, 0)
        probe.open()
        _ = probe.end()
        probe.lane.admit(.none)
        probe.lane.admit(.one)
        #expect(!probe.wantsConnection)
    }

    @Test("Waiting notifications are taken out in order, and those that are not taken are still sent")
    func takes() {
        probe.publish(2)
        #expect(probe.openAndSend() == [0, 1])
        probe.publish(2, assignment: 2)
        probe.publish(1)
        _ = probe.end()
        let taken = probe.lane.takeWaiting(assignment: 1) { _ in true }
        #expect(taken.map(\.token) == [0, 1, 4], "what is to be sent again is taken too")
        #expect(probe.openAndSend() == [2, 3])
        #expect(probe.silence().presumed == [2, 3])
        #expect(probe.isDrained)
    }
}
