import PipelineCore
import Testing

@testable import belfry_simulate

/// The auditor notices when connections that are only kept warm break a rule: each test breaks one.
@Suite struct AuditorWarmthTests {
    /// The place of a connection.
    private final class Place {}

    /// A world with two lanes, in which the first topic is kept warm and nothing was published.
    private static func world() -> World {
        var plan = WorldPlan(seed: 1, features: [])
        plan.options.requestLanes = [.urgent, .normal]
        plan.options.servedLanes = [plan.options.requestLanes]
        plan.options.connectionsPerMinute = 20
        plan.options.connectionMaxAge = 0
        plan.options.warm = [0]
        plan.records[0].topic = 0
        plan.faults = []
        return World(plan)
    }

    @Test("Invariant 10 is broken if a topic stops for a process that had nothing to send for it")
    func stopped() throws {
        for wasFed in [true, false] {
            let world = Self.world()
            let process = SimulatedProcess(world: world, slot: 0, number: 1)
            let worker = try #require(process.worker(of: .urgent))
            if wasFed { world.auditor.fetched(0, by: worker.consumer) }
            world.auditor.stopped(0, in: process)
            #expect(world.auditor.violation?.invariant == (wasFed ? nil : 10))
        }
    }

    @Test("Invariant 9 is broken by a connection that nothing is to be sent over, but for warm topics in urgent")
    func unasked() throws {
        for (topic, isUrgent, isBroken) in [(0, true, false), (1, true, true), (0, false, true)] {
            let world = Self.world()
            let process = SimulatedProcess(world: world, slot: 0, number: 1)
            let worker = try #require(process.worker(of: isUrgent ? .urgent : .normal))
            world.auditor.connectingUnused(worker, to: topic, Place())
            #expect(world.auditor.violation?.invariant == (isBroken ? 9 : nil))
        }
    }

    @Test("Invariant 9 is broken if warm topics at rest take more than half of a minute's connections")
    func tooMany() throws {
        let world = Self.world()
        let process = SimulatedProcess(world: world, slot: 0, number: 1)
        let worker = try #require(process.worker(of: .urgent))
        let place = Place()
        func connect() {
            world.auditor.connectingUnused(worker, to: 0, place)
            world.auditor.connectedLanes[ObjectIdentifier(place)] = place
        }
        for _ in 0...10 { connect() }
        #expect(world.auditor.violation == nil)
        world.clock.after(.seconds(60)) {}
        while world.clock.step() {}
        for _ in 0..<10 { connect() }
        #expect(world.auditor.violation == nil)
        connect()
        #expect(world.auditor.violation?.invariant == 9)
    }

    @Test("Invariant 9 is broken by a connection that is kept warm without partitions, or while its topic is paused")
    func unwanted() throws {
        for isPaused in [true, false] {
            let world = Self.world()
            if isPaused { world.controls.set(.pause, of: world.leverName(ofTopic: 0), in: .urgent, .pause) }
            let process = SimulatedProcess(world: world, slot: 0, number: 1)
            let worker = try #require(process.worker(of: .urgent))
            world.auditor.noteControls(of: worker)
            if !isPaused { world.auditor.noteWarmth(of: worker, hasPartition: false) }
            for (time, isBroken) in [(Auditor.warmthLapse, false), (VirtualTime.milliseconds(1), true)] {
                world.clock.after(time) {}
                while world.clock.step() {}
                world.auditor.connectingUnused(worker, to: 0, Place())
                #expect(world.auditor.violation?.invariant == (isBroken ? 9 : nil))
            }
        }
    }
}
