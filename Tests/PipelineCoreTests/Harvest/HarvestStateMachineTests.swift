import PipelineCore
import Testing

/// The readings of feedback lists: their times, and how far they run ahead of what is safe.
@Suite struct HarvestStateMachineTests {
    /// Every world that can come of one, each once; the path to the first that breaks a rule.
    private func explore(
        _ first: HarvestWorld,
        depth: Int,
        visit: (HarvestWorld) throws -> Void = { _ in }
    ) throws -> Int {
        var seen: Set<HarvestWorld> = [first]
        var frontier = [first]
        for _ in 0..<depth {
            var next: [HarvestWorld] = []
            for world in frontier {
                for event in world.possible {
                    var changed = world
                    do {
                        try changed.happen(event)
                        if seen.insert(changed).inserted {
                            try visit(changed)
                            next.append(changed)
                        }
                    } catch {
                        Issue.record("\(event) in \(world): \(error)")
                        return seen.count
                    }
                }
            }
            frontier = next
            if frontier.isEmpty { break }
        }
        return seen.count
    }

    /// All goes well from now on.
    private func finish(_ world: HarvestWorld) throws -> HarvestWorld {
        var world = world
        var steps = 0
        while !world.isAtRest {
            guard let event = Self.smooth.first(where: { world.possible.contains($0) }) ?? world.possible.first else {
                throw HarvestWorld.Violation(description: "it waits for what does not come: \(world)")
            }
            try world.happen(event)
            steps += 1
            guard steps < 200 else { throw HarvestWorld.Violation(description: "it comes to no end: \(world)") }
        }
        return world
    }

    /// Answers come before timers.
    private static let smooth: [HarvestWorld.Event] = [
        .brokerAnswers, .redisExecutes, .leaseAnswers, .releaseAnswers, .opens, .brokerAcknowledges, .closed,
        .socketIsRead,
        .serviceSends, .serviceCloses, .timer,
    ]

    @Test("Killed, cut, stopped or left alone at any step of its run, it keeps every rule, and reads on to the end")
    func everyStep() throws {
        var kills = 0
        let count = try explore(HarvestWorld(tuples: 3, faults: 2, timers: 4), depth: 30) { world in
            if world.lostByKill > 0 { kills += 1 }
            guard world.faults == 0 else { return }
            let end = try finish(world.withTimers(60))
            guard !end.hasStopped else { return }
            #expect(end.log + end.lostWithConnection + end.lostByKill == 3)
        }
        #expect(count > 10_000)
        #expect(kills > 100, "the read-ahead was there to lose")
    }

    @Test("Told to stop at any step, it ends by its timers alone, although nothing answers any more")
    func stopWithoutAnswers() throws {
        var stops: Set<HarvestStateMachine.Step> = []
        _ = try explore(HarvestWorld(tuples: 3, faults: 2, timers: 4), depth: 30) { world in
            guard !world.wasTold else { return }
            var world = world.withTimers(60)
            let (step, told) = (world.machine.step, world.now)
            try world.happen(.stop)
            while !world.hasStopped, world.possible.contains(.timer) { try world.happen(.timer) }
            #expect(world.hasStopped, "it waits for ever in \(step)")
            #expect(world.now <= told + HarvestWorld.settings.answerPatience)
            stops.insert(step)
        }
        #expect(stops.count == HarvestStateMachine.Step.allCases.count - 1)
    }

    /// A machine that listens, with the time at which it does.
    private func listening() throws -> (machine: HarvestStateMachine, now: MonotonicTime) {
        let now = MonotonicTime(nanoseconds: 5)
        var machine = HarvestStateMachine(settings: HarvestWorld.settings, due: now)
        #expect(machine.timerFired(now: now) == [.checkBroker])
        #expect(machine.brokerAnswered(true, now: now) == [.holdLease])
        #expect(machine.leaseAnswered(.held, now: now) == [.connect])
        #expect(machine.opened(now: now) == [.listen])
        return (machine, now)
    }

    @Test("Tuples that come at once are published batch by batch, each after the acknowledgement of the last")
    func batches() throws {
        var (machine, now) = try listening()
        let batch = HarvestLimits.batchBytes
        #expect(machine.received(bytes: 2 * batch + 10, now: now) == [.publish(bytes: batch)])
        #expect(machine.handedOver(tuples: 2, heldBytes: 3, now: now) == [])
        #expect(machine.ended(failed: false, now: now) == [])
        #expect(machine.acknowledged(now: now) == [])
        #expect(machine.acknowledged(now: now) == [.publish(bytes: batch)])
        #expect(machine.handedOver(tuples: 0, heldBytes: batch, now: now) == [.publish(bytes: 10)])
        #expect(machine.handedOver(tuples: 1, heldBytes: 4, now: now) == [])
        let reading = HarvestStateMachine.Reading(tuples: 3, cutBytes: 4, failure: .cut)
        #expect(machine.acknowledged(now: now) == [.report(reading), .releaseLease])
    }

    @Test("A list that was read is due an interval after it was due; one that was not, after the delay of a retry")
    func schedule() throws {
        for failed in [false, true] {
            var (machine, now) = try listening()
            let due = now
            now = now + .seconds(3)
            _ = machine.ended(failed: failed, now: now)
            #expect(machine.leaseReleased(now: now) == [])
            #expect(machine.deadline == (failed ? now + .seconds(20) : due + .seconds(100)))
        }
    }

    @Test("While it listens it renews its lease in time, and gives up a service that says nothing")
    func deadlines() throws {
        var (machine, start) = try listening()
        var now = try #require(machine.deadline)
        #expect(start.elapsed(until: now) < .seconds(4))
        #expect(machine.timerFired(now: now) == [.holdLease])
        #expect(machine.leaseAnswered(.held, now: now) == [])
        #expect(machine.holdsLease(now: now + .seconds(8)) && !machine.holdsLease(now: now + .seconds(9)))
        now = start + .seconds(5)
        #expect(machine.deadline == now)
        #expect(machine.timerFired(now: now) == [.close])
        #expect(machine.ended(failed: true, now: now) == [.report(.init(failure: .silent)), .releaseLease])
    }

    @Test("A lease that turns out to be another harvester's closes the connection at once")
    func stolen() throws {
        var (machine, now) = try listening()
        now = try #require(machine.deadline)
        #expect(machine.timerFired(now: now) == [.holdLease])
        #expect(machine.leaseAnswered(.refused, now: now) == [.close])
        #expect(machine.ended(failed: true, now: now) == [.report(.init(failure: .leaseLost)), .releaseLease])
    }

    @Test("A harvest that closes does not ask for the lease in the same step, for it may be given back before")
    func sleptThrough() throws {
        for closesAtOnce in [true, false] {
            var (machine, now) = try listening()
            // Suspended until the lease, and what renews it, were due long ago.
            now = now + .seconds(60)
            #expect(machine.timerFired(now: now) == [.close])
            if closesAtOnce {
                #expect(machine.ended(failed: true, now: now) == [.report(.init(failure: .leaseLost)), .releaseLease])
            } else {
                #expect(try #require(machine.deadline) <= now)
                #expect(machine.timerFired(now: now) == [.holdLease])
            }
        }
    }

    /// Lets time go by, deadline by deadline, until something else is to be done than to renew the lease.
    ///
    /// - Parameter renews: whether Redis answers.
    private func wait(
        _ machine: inout HarvestStateMachine,
        renews: Bool
    ) throws -> (effects: [HarvestStateMachine.Effect], time: MonotonicTime)? {
        for _ in 0..<100 {
            let now = try #require(machine.deadline)
            let effects = machine.timerFired(now: now)
            guard effects == [.holdLease] else {
                if !effects.isEmpty { return (effects, now) }
                continue
            }
            if renews { #expect(machine.leaseAnswered(.held, now: now) == []) }
        }
        return nil
    }

    @Test("A connection that does not come about in time is given up")
    func unreachable() throws {
        let start = MonotonicTime(nanoseconds: 5)
        var machine = HarvestStateMachine(settings: HarvestWorld.settings, due: start)
        #expect(machine.timerFired(now: start) == [.checkBroker])
        #expect(machine.brokerAnswered(true, now: start) == [.holdLease])
        #expect(machine.leaseAnswered(.held, now: start) == [.connect])
        let end = try #require(try wait(&machine, renews: true))
        #expect(end.effects == [.close] && end.time == start + HarvestWorld.settings.connectTimeout)
        let report = machine.ended(failed: true, now: end.time)
        #expect(report == [.report(.init(failure: .unreachable)), .releaseLease])
    }

    @Test("A proxy that refuses the login is told apart from a service that cannot be reached")
    func refusedByProxy() {
        let start = MonotonicTime(nanoseconds: 5)
        var machine = HarvestStateMachine(settings: HarvestWorld.settings, due: start)
        #expect(machine.timerFired(now: start) == [.checkBroker])
        #expect(machine.brokerAnswered(true, now: start) == [.holdLease])
        #expect(machine.leaseAnswered(.held, now: start) == [.connect])
        let report = machine.ended(failed: true, byProxy: true, now: start)
        #expect(report == [.report(.init(failure: .proxyRefused)), .releaseLease])
    }

    @Test("A lease that Redis does not renew ends the reading when it is not ours for sure any more")
    func expired() throws {
        var (machine, start) = try listening()
        #expect(machine.received(bytes: 38, now: start) == [.publish(bytes: 38)])
        let end = try #require(try wait(&machine, renews: false))
        #expect(end.effects == [.close] && end.time == start + .seconds(9))
    }

    @Test("A stop ends a reading that goes on for too long")
    func stopped() throws {
        var (machine, start) = try listening()
        #expect(machine.received(bytes: 38, now: start) == [.publish(bytes: 38)])
        #expect(machine.stop(now: start) == [])
        let end = try #require(try wait(&machine, renews: true))
        #expect(end.effects == [.close] && end.time == start + HarvestWorld.settings.stopPatience)
    }
}
