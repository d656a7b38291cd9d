import TestSupport
import Testing

@testable import PipelineCore

/// Machines that are told other limits while they work.
@Suite("Limits that change") struct ChangedLimitsTests {
    private static let minute: UInt64 = 60_000_000_000

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    // MARK: The connection budget

    @Test("However often the budget changes, the minute before a grant has no more grants than it", arguments: 1...30)
    func budget(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var perMinute = Int.random(in: 1...60, using: &random)
        var budget = ConnectionBudget(perMinute: perMinute)
        var now: UInt64 = 0
        var grants: [UInt64] = []
        for _ in 0..<3000 {
            now += .random(in: 0...2_000_000_000, using: &random)
            if random.chance(100) {
                perMinute = .random(in: 1...60, using: &random)
                budget.use(perMinute: perMinute)
            }
            guard budget.takeConnection(topic: 1, purpose: .reconnect, now: .init(nanoseconds: now)) == nil else {
                continue
            }
            grants.append(now)
            let latest = grants.count { $0 + Self.minute > now }
            #expect(latest <= perMinute)
        }
        #expect(grants.count > 100)
    }

    @Test("A greater budget is to be had at once, and its pace is its own")
    func greaterBudget() {
        var budget = ConnectionBudget(perMinute: 40)
        var second: UInt64 = 0
        var count = 0
        while count < 30 {
            while budget.takeConnection(topic: 1, purpose: .reconnect, now: at(second)) == nil { count += 1 }
            second += 1
        }
        let last = at(second - 1)
        budget.use(perMinute: 60)
        let later = budget.takeConnection(topic: 1, purpose: .reconnect, now: last)
        #expect(later.map { last.elapsed(until: $0) <= .seconds(1) } == true)
        budget.use(perMinute: 600)
        #expect(budget.takeConnection(topic: 1, purpose: .reconnect, now: last) == nil)
    }

    // MARK: The health of a topic

    @Test("Another share and sample judge the answers that are there")
    func share() {
        var health = AppHealth(limits: .forTests(share: 0.9, refusedSample: 20))
        health.accepted(6, connectionOpenedAt: at(1), shard: 0, now: at(1))
        for _ in 0..<4 { _ = health.tokenRefused(shard: 0, now: at(1), random: 0) }
        health.tick(now: at(2), random: 0)
        #expect(health.works)
        health.use(.forTests(share: 0.3, refusedSample: 20))
        health.tick(now: at(2), random: 0)
        #expect(health.works, "the sample is not full")
        health.use(.forTests(share: 0.3, refusedSample: 10))
        health.tick(now: at(2), random: 0)
        #expect(health.reason == .tokensDoubted)
    }

    @Test("The price paid for a refusal under another share is forgotten, and each costs the new one")
    func trust() {
        var health = AppHealth(limits: .forTests(share: 0.1, refusedSample: 1_000_000))
        for _ in 0..<20 { _ = health.tokenRefused(shard: 0, now: at(1), random: 0) }
        health.accepted(8, connectionOpenedAt: at(1), shard: 0, now: at(1))
        #expect(health.trustedThrough == 0, "nine acceptances pay for one")
        health.use(.forTests(share: 0.5, refusedSample: 1_000_000))
        health.accepted(1, connectionOpenedAt: at(1), shard: 0, now: at(1))
        #expect(health.trustedThrough == 1)
        health.use(.forTests(share: 0.9, refusedSample: 1_000_000))
        health.accepted(1, connectionOpenedAt: at(1), shard: 0, now: at(1))
        #expect(health.trustedThrough == 10)
        health.use(.forTests(share: 0, refusedSample: 1_000_000))
        health.accepted(100, connectionOpenedAt: at(1), shard: 0, now: at(1))
        #expect(health.trustedThrough == 10 && health.distrustedThrough == 20, "none is believed by a share of 0")
    }

    @Test("A stop ends when it would have ended; the next one waits by the new limits")
    func stop() {
        var health = AppHealth(limits: .forTests())
        health.failed(.unreachable, now: at(0), random: .max)
        let state = health.state
        var limits = AppHealth.Limits.forTests()
        limits.probe = Backoff(base: .seconds(3), cap: .seconds(3), floor: .seconds(1))
        limits.probeTimeout = .seconds(5)
        health.use(limits)
        #expect(health.state == state)
        let isGranted = health.beginProbe(shard: 0, now: at(30), random: 0)
        #expect(isGranted)
        #expect(health.state == .probing(.unreachable, shard: 0, until: at(35)))
        health.failed(.unreachable, now: at(31), random: .max)
        guard case .stopped(_, let until) = health.state else { return #expect(health.isStopped) }
        #expect(until <= at(34))
    }

    @Test("A standstill is judged by the patience of the moment")
    func standstill() {
        var standstill = LaneStandstill(patience: .seconds(60))
        func note(at second: UInt64) -> Bool {
            standstill.observeLane(
                hasWork: true,
                isExcused: false,
                settledEnd: 0,
                allowance: .zero,
                now: at(second)
            )
        }
        #expect(!note(at: 0) && !note(at: 20))
        standstill.patience = .seconds(10)
        #expect(note(at: 21))
    }

    // MARK: Bytes

    @Test("A smaller budget of bytes admits nothing until less is held; a greater one admits at once")
    func memory() {
        var budget = MemoryBudget(limitBytes: 1000, topicLimitBytes: 1000)
        budget.takeBytes(400)
        budget.use(limitBytes: 300, topicLimitBytes: 300)
        #expect(!budget.admits(topicBytes: 0) && budget.admitsProbe)
        budget.giveBack(200)
        #expect(budget.admits(topicBytes: 0))
        budget.use(limitBytes: 1000, topicLimitBytes: 50)
        #expect(budget.admits(topicBytes: 49) && !budget.admits(topicBytes: 50))
    }

    // MARK: Lists and tokens

    @Test("A shorter interval ends the wait for a list's next reading sooner, a longer one no later than it was to end")
    func harvest() {
        let settings = HarvestStateMachine.Settings(
            interval: .seconds(100),
            lease: .seconds(9),
            connectTimeout: .seconds(9)
        )
        var machine = HarvestStateMachine(settings: settings, due: at(100))
        machine.use(interval: .seconds(200), delay: .zero, now: at(10))
        #expect(machine.deadline == at(100))
        machine.use(interval: .seconds(20), delay: .seconds(1), now: at(10))
        #expect(machine.deadline == at(31))
        var effects = machine.timerFired(now: at(31))
        machine.use(interval: .seconds(5), delay: .zero, now: at(31))
        effects += machine.brokerAnswered(true, now: at(31)) + machine.leaseAnswered(.held, now: at(31))
        effects += machine.opened(now: at(31))
        #expect(effects == [.checkBroker, .holdLease, .connect, .listen], "what has begun goes on")
        _ = machine.ended(failed: false, now: at(32))
        _ = machine.leaseReleased(now: at(32))
        #expect(machine.deadline == at(36), "the next is due the new interval after this one was")
    }

    @Test("A sweep looks at as many tokens a second as the rate of the moment, after the wait that is on")
    func sweep() {
        var pace = SweepPace(rate: 100)
        pace.looked(at: 100, now: at(0))
        pace.use(rate: 1000)
        #expect(pace.wait(now: at(0)) == .seconds(1) && pace.rate == 1000)
        pace.looked(at: 500, now: at(1))
        #expect(pace.wait(now: at(1)) == .milliseconds(500))
    }

    // MARK: Lanes

    @Test("Notifications in flight over the binary interface end by the policy of the moment; their window stays")
    func lane() {
        let probe = LaneProbe()
        probe.publish(3)
        #expect(probe.openAndSend() == [0, 1, 2])
        let limits = LaneLimits(
            confirmationWindow: .seconds(1),
            unknownFate: .presume,
            inFlight: 1,
            sentinelTimeout: .seconds(1),
            standstillPatience: .seconds(1),
            processingAttempts: 9,
            retryFor: .seconds(9)
        )
        probe.lane.use(limits)
        #expect(probe.lane.limits.confirmationWindow == LaneProbe.window && probe.lane.limits.inFlight == 1000)
        #expect(probe.lane.limits.processingAttempts == 9 && probe.lane.limits.retryFor == .seconds(9))
        #expect(probe.lane.limits.sentinelTimeout == LaneProbe.window, "never shorter than the window that counts")
        #expect(probe.end() == .init(presumed: [0, 1, 2]))
    }

    @Test("A lane stands still after the patience of the moment")
    func laneStandstill() {
        let probe = LaneProbe()
        probe.publish()
        #expect(!probe.standsStill)
        probe.now = probe.now + .seconds(59)
        #expect(!probe.standsStill)
        probe.lane.use(LaneLimits(standstillPatience: .seconds(59)))
        #expect(probe.standsStill)
    }

    @Test("Requests in flight over HTTP/2 end by the policy, and time out by the patience, of the moment")
    func stream() {
        let probe = StreamProbe()
        probe.publish(2)
        probe.send()
        probe.pass(.seconds(3))
        #expect(probe.timeOut().isEmpty)
        var limits = probe.queue.limits
        limits.requestTimeout = .seconds(3)
        limits.unknownFate = .giveUp
        probe.queue.use(limits)
        #expect(probe.timeOut() == [.init(0, .unknown), .init(1, .unknown)])
    }
}
