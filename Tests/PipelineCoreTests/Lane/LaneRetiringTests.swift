import APNsProtocol
import Testing

@testable import PipelineCore

/// Sentinels, rotation and the idle rule.
@Suite struct LaneRetiringTests {
    private func finishing(_ count: Int, unknownFate: UnknownFatePolicy = .resend) -> LaneProbe {
        let probe = LaneProbe(unknownFate: unknownFate)
        probe.publish(count)
        _ = probe.openAndSend()
        probe.lane.finish()
        return probe
    }

    @Test("An answered sentinel confirms everything before it, at once, by its identifier or by status 2 with none")
    func answered() throws {
        for isNamed in [true, false] {
            let probe = finishing(3)
            let identifier = try #require(probe.takeSentinel())
            #expect(identifier == probe.identifier(of: 3))
            #expect(!probe.wantsSentinel)
            let verdict = probe.answer(.missingDeviceToken, identifier: isNamed ? identifier : 0)
            #expect(verdict == .init(confirmed: [0, 1, 2]))
            #expect(probe.isDrained && !probe.wantsConnection && probe.phase == .disconnected)
        }
    }

    @Test("Status 2 without a name proves nothing while no sentinel is out")
    func noSentinel() {
        let probe = finishing(3)
        #expect(probe.answer(.missingDeviceToken, identifier: 0) == .init(resent: 3))
    }

    @Test("Another status without a name is no answer to the sentinel")
    func anotherStatus() {
        let probe = finishing(3)
        #expect(probe.takeSentinel() != nil)
        #expect(probe.answer(.unknown, identifier: 0) == .init(resent: 3))
    }

    @Test("Notifications presumed while the sentinel was out stay presumed; the sentinel confirms the rest")
    func presumedMeanwhile() throws {
        let probe = LaneProbe()
        probe.publish()
        _ = probe.openAndSend()
        _ = probe.silence(.milliseconds(1500))
        probe.publish()
        probe.send()
        probe.lane.finish()
        let identifier = try #require(probe.takeSentinel())
        #expect(probe.silence(.milliseconds(500)).presumed == [0])
        #expect(probe.answer(.missingDeviceToken, identifier: identifier) == .init(confirmed: [1]))
    }

    @Test("A refusal before the sentinel's turn counts as always; what follows is sent again and gets its own sentinel")
    func refusalFirst() throws {
        let probe = finishing(4)
        #expect(probe.takeSentinel() != nil)
        #expect(probe.answer(.invalidToken, 1) == .init(confirmed: [0], refused: 1, resent: 2))
        #expect(probe.openAndSend() == [2, 3])
        let identifier = try #require(probe.takeSentinel())
        #expect(probe.answer(.missingDeviceToken, identifier: identifier).confirmed == [2, 3])
    }

    @Test("A sentinel goes out behind everything that waits, and only for what is unsettled")
    func behindEverything() {
        let probe = LaneProbe(inFlight: 2)
        probe.publish(3)
        #expect(probe.openAndSend() == [0, 1])
        probe.lane.finish()
        #expect(!probe.wantsSentinel, "one waits")
        _ = probe.silence()
        #expect(probe.send() == [2])
        #expect(probe.wantsSentinel)
        _ = probe.silence()
        #expect(!probe.wantsSentinel, "silence has settled it")
    }

    @Test("A waiting notification that is dropped keeps no sentinel back")
    func droppedWaiting() throws {
        let probe = LaneProbe(inFlight: 1)
        probe.publish(3)
        #expect(probe.openAndSend() == [0])
        probe.lane.stopSending(assignment: 1)
        probe.lane.finish()
        let identifier = try #require(probe.takeSentinel())
        #expect(probe.answer(.missingDeviceToken, identifier: identifier).confirmed == [0])
        #expect(probe.isDrained)
    }

    @Test("Nothing is written after a sentinel; what comes later goes over the next connection")
    func nothingAfter() throws {
        let probe = finishing(1)
        let identifier = try #require(probe.takeSentinel())
        probe.publish()
        #expect(probe.send() == [])
        #expect(probe.answer(.missingDeviceToken, identifier: identifier).confirmed == [0])
        #expect(probe.openAndSend() == [1])
    }

    @Test(
        "An unanswered sentinel ends by its limit: silence settles what arrived, and a stop waits for nothing more"
    )
    func unanswered() {
        let arrived = finishing(2)
        #expect(arrived.takeSentinel() != nil)
        #expect(arrived.giveSentinelUp() == nil)
        #expect(arrived.silence().presumed == [0, 1])
        #expect(arrived.isRetired && arrived.isDrained)

        for policy in UnknownFatePolicy.allCases {
            let probe = LaneProbe(unknownFate: policy)
            probe.publish(2)
            probe.open()
            probe.send(flush: false)
            probe.lane.written(upTo: probe.lane.sentEnd, streamBytes: 1000, now: probe.now)
            probe.lane.finish()
            #expect(probe.takeSentinel() != nil)
            _ = probe.silence(.milliseconds(4999))
            #expect(probe.giveSentinelUp() == nil)
            probe.now = probe.now + .milliseconds(1)
            let verdict = probe.giveSentinelUp()
            #expect(verdict?.presumed == (policy == .presume ? [0, 1] : []))
            #expect(verdict?.unknown == (policy == .giveUp ? [0, 1] : []))
            #expect(probe.hasGivenUp == (policy == .resend))
            #expect(!probe.wantsConnection, "the next owner sends it")
            #expect(probe.giveSentinelUp() == nil)
        }
    }

    @Test("The sentinel's identifier wraps like the others")
    func wrap() {
        let probe = LaneProbe(firstSequence: UInt64(UInt32.max) - 2)
        probe.publish(2)
        _ = probe.openAndSend()
        probe.lane.retire()
        #expect(probe.takeSentinel() == 1)
        #expect(probe.answer(.missingDeviceToken, identifier: 1).confirmed == [0, 1])
    }

    @Test("A connection is old between three quarters of its age and all of it, spread by the random bits")
    func age() {
        let probe = LaneProbe(connectionMaxAge: .seconds(100))
        let start = probe.now
        for (random, seconds) in [(0, 100), (UInt64.max / 2, 87), (.max, 75)] as [(UInt64, UInt64)] {
            let rotation = ConnectionRotation(edition: 1, maxAge: .seconds(100), now: start, random: random)
            #expect(rotation.due.map { start.elapsed(until: $0).components.seconds } == Int64(seconds))
        }
        probe.publish()
        _ = probe.openAndSend()
        probe.now = start + .seconds(87)
        #expect(!probe.wantsSuccessor)
        probe.now = start + .seconds(88)
        #expect(probe.wantsSuccessor)
        #expect(!LaneProbe().wantsSuccessor)
    }

    @Test("A retiring connection takes nothing more; its sentinel frees the lane for the successor, in order")
    func rotation() throws {
        let probe = LaneProbe(connectionMaxAge: .seconds(100))
        probe.publish(2)
        _ = probe.openAndSend()
        probe.now = probe.now + .seconds(99)
        probe.publish(1)
        probe.lane.retire()
        #expect(probe.send() == [])
        #expect(!probe.wantsSuccessor && !probe.isRetired)
        let identifier = try #require(probe.takeSentinel())
        #expect(probe.answer(.missingDeviceToken, identifier: identifier).confirmed == [0, 1])
        #expect(probe.openAndSend() == [2])
    }

    @Test("With nothing unsettled a connection retires without a sentinel")
    func retireIdle() {
        let probe = LaneProbe()
        probe.publish()
        _ = probe.openAndSend()
        _ = probe.silence()
        probe.lane.retire()
        #expect(probe.isRetired && !probe.wantsSentinel)
        #expect(probe.end(.closedHere) == .init())
        #expect(!probe.isRetired)
    }

    @Test("A successor that fails is tried again later each time, and a stop wants none")
    func failedSuccessor() {
        let probe = LaneProbe(connectionMaxAge: .seconds(100))
        probe.publish()
        _ = probe.openAndSend()
        probe.now = probe.now + .seconds(100)
        var last = Duration.zero
        for _ in 0..<4 {
            #expect(probe.wantsSuccessor)
            let failedAt = probe.now
            probe.lane.successorFailed(now: failedAt, random: .max / 2)
            #expect(!probe.wantsSuccessor)
            while !probe.wantsSuccessor { probe.now = probe.now + .milliseconds(10) }
            let wait = Duration.nanoseconds(probe.now.nanoseconds - failedAt.nanoseconds)
            #expect(wait > last)
            last = wait
        }
        probe.lane.finish()
        #expect(!probe.wantsSuccessor)
    }

    @Test("After a successor failed there is no other connection before the back-off, even if the old one ended")
    func failedSuccessorOfNothing() {
        let probe = LaneProbe(connectionMaxAge: .seconds(100))
        probe.publish()
        _ = probe.openAndSend()
        probe.now = probe.now + .seconds(100)
        probe.lane.successorFailed(now: probe.now, random: .max / 2)
        _ = probe.silence()
        probe.lane.successorFailed(now: probe.now, random: .max)
        _ = probe.end(.closedHere)
        probe.publish()
        let wantsNow = probe.lane.wantsConnection(now: probe.now)
        let wantsLater = probe.lane.wantsConnection(now: probe.now + .seconds(60))
        #expect(!wantsNow && wantsLater)
    }

    @Test(
        "A connection on which nothing was sent for the set time is idle, unless something is unsettled or waiting"
    )
    func idle() {
        let probe = LaneProbe()
        probe.publish()
        _ = probe.openAndSend()
        #expect(probe.silence(.seconds(3599)).presumed == [0])
        #expect(!probe.isIdle)
        probe.now = probe.now + .seconds(1)
        #expect(probe.isIdle)
        probe.publish()
        #expect(!probe.isIdle)
        probe.send()
        #expect(probe.silence().presumed == [1])
        #expect(!probe.isIdle)
    }
}
