import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// The auditor notices when a rule about lanes is broken: each test breaks one.
@Suite struct AuditorLaneTests {
    /// A world of two records to the same tokens, a second apart. The first is urgent.
    private static func world(
        isOfOneLane: Bool,
        coalescingKey: Int = 0,
        request: Int? = nil,
        isCalm: Bool = false
    ) -> World {
        var plan = WorldPlan(seed: 1, features: [])
        plan.options.requestLanes = [.urgent, .normal, .bulk]
        plan.options.servedLanes = [plan.options.requestLanes]
        plan.options.publishesAll = true
        plan.options.isPunctual = true
        plan.options.policy = .resend
        plan.options.coalescingKeys = coalescingKey
        plan.options.dedupeWindow = .seconds(3000)
        plan.options.isCalm = isCalm
        plan.faults = []
        var first = plan.records[0]
        first.coalescingKey = coalescingKey
        first.backdated = 0
        first.request = request
        first.lane = .urgent
        var second = first
        second.time += .seconds(1)
        second.lane = isOfOneLane ? .urgent : .bulk
        plan.records = [first, second]
        return World(plan)
    }

    /// Lets time pass in which nothing happens.
    private func wait(_ world: World) {
        world.clock.after(.seconds(1)) {}
        while world.clock.step() {}
    }

    @Test("Invariant 4 is broken if a first sending overtakes an older one of its lane, not of another")
    func order() {
        for isOfOneLane in [true, false] {
            let world = Self.world(isOfOneLane: isOfOneLane)
            let token = world.auditor.notifications[0].token
            world.auditor.noteOrder(of: world.auditor.firstOf[1], token: token, wasAccepted: false)
            world.auditor.noteOrder(of: 0, token: token, wasAccepted: false)
            #expect(world.auditor.violation?.invariant == (isOfOneLane ? 4 : nil))
        }
    }

    @Test("Invariant 1 is broken by a notification that is superseded by a newer one of another lane")
    func superseded() {
        for isOfOneLane in [true, false] {
            let world = Self.world(isOfOneLane: isOfOneLane, coalescingKey: 1)
            world.publish(0)
            world.publish(1)
            let place = world.laneMap.place(of: world.partition(ofRecord: 0))
            var outcome = PushOutcome()
            outcome.sourceTopic = place.topic
            outcome.sourcePartition = place.partition
            outcome.sourceOffset = world.offset(ofRecord: 0) ?? -1
            outcome.kind = .superseded
            world.auditor.stored(outcome, by: 1, producedAt: World.start)
            #expect(world.auditor.violation?.invariant == (isOfOneLane ? nil : 1))
        }
    }

    @Test("Invariant 1 is broken by an outcome that names a record by the Kafka topic of another lane")
    func otherLane() {
        let world = Self.world(isOfOneLane: true)
        world.publish(0)
        var outcome = PushOutcome()
        outcome.sourceTopic = World.requests
        outcome.sourcePartition = world.laneMap.place(of: world.partition(ofRecord: 0)).partition
        outcome.sourceOffset = world.offset(ofRecord: 0) ?? -1
        outcome.kind = .rejected
        world.auditor.stored(outcome, by: 1, producedAt: World.start)
        #expect(world.auditor.violation?.invariant == 1)
    }

    @Test("Invariant 3 is broken by a commit of a lane that its member is not of")
    func otherGroup() throws {
        let world = Self.world(isOfOneLane: true)
        let worker = try #require(SimulatedProcess(world: world, slot: 0, number: 1).worker(of: .bulk))
        let position = KafkaPartitionOffset(topic: World.requests, partition: 0, offset: 0)
        worker.consumer.group.join(worker.consumer)
        while world.clock.step() {}
        let generation = worker.consumer.group.generation
        let refusal = world.broker.commit([position], by: worker.consumer, in: generation)
        #expect(refusal == nil && world.auditor.violation?.invariant == 3)
    }

    @Test("Invariant 3 is broken if a request that arrived in another lane is taken in and sent after that")
    func remembered() throws {
        for wasUnderWay in [true, false] {
            let world = Self.world(isOfOneLane: false, request: 0)
            let auditor = world.auditor
            let worker = try #require(SimulatedProcess(world: world, slot: 0, number: 1).worker(of: .bulk))
            world.publish(0)
            world.publish(1)
            if wasUnderWay { auditor.fetched(1, by: worker.consumer) }
            wait(world)
            auditor.notifications[0].accepted = 1
            auditor.notifications[0].hasArrived = true
            auditor.notifications[0].outcomeAt = world.clock.now
            wait(world)
            auditor.fetched(1, by: worker.consumer)
            auditor.checkRememberedRequest(of: auditor.firstOf[1])
            #expect(auditor.violation?.invariant == (wasUnderWay ? nil : 3))
        }
    }

    @Test("Invariant 11 is broken by a notification whose lane is paused, or its topic in all lanes")
    func pausedLane() {
        for (lane, isBroken) in [("urgent", true), ("bulk", false), ("all", true)] {
            let world = Self.world(isOfOneLane: true)
            let name = world.leverName(ofTopic: world.plan.records[0].topic)
            var controls = AppControls()
            switch lane {
            case "urgent": controls.set(.pause, of: name, in: .urgent, .pause)
            case "bulk": controls.set(.pause, of: name, in: .bulk, .pause)
            default: controls.set(.pause, of: name, .pause)
            }
            world.auditor.checkLevers(controls, record: 0, token: world.auditor.notifications[0].token)
            #expect(world.auditor.violation?.invariant == (isBroken ? 11 : nil))
        }
    }

    @Test("Invariant 11 is broken by a notification that is aborted where another lane was discarded")
    func otherDiscard() {
        for isOwn in [true, false] {
            let world = Self.world(isOfOneLane: true)
            world.publish(0)
            let ends = [world.laneMap.place(of: world.partition(ofRecord: 0)).partition: Int64.max]
            let order = AppControl.Discard(publishedBefore: .max, ends: ends)
            let topic = world.plan.records[0].topic
            world.auditor.noteDiscard(order, ofTopic: topic, in: isOwn ? .urgent : .bulk)
            world.auditor.checkAborted(0)
            #expect(world.auditor.violation?.invariant == (isOwn ? nil : 11))
        }
    }

    @Test("Invariant 12 is broken by an urgent notification that waits where nothing holds it up")
    func late() {
        for isCalm in [true, false] {
            let world = Self.world(isOfOneLane: true, isCalm: isCalm)
            let end = World.start + world.plan.records[0].time + Auditor.urgency
            world.auditor.checkUrgency(of: 0, writtenAt: end)
            #expect(world.auditor.violation == nil)
            world.auditor.checkUrgency(of: 0, writtenAt: end + .milliseconds(1))
            #expect(world.auditor.violation?.invariant == (isCalm ? 12 : nil))
        }
    }
}
