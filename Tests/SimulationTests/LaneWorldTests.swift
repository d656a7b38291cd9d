import Testing

@testable import belfry_simulate

/// Worlds whose requests come in several lanes.
@Suite struct LaneWorldTests {
    /// A world as a seed would have it.
    private static func chosen(_ seed: UInt64) -> WorldPlan {
        var dice = Dice(seed: seed, stream: 9)
        var plan = WorldPlan(seed: seed, features: [])
        plan.chooseLanes(&dice)
        return plan
    }

    /// Three lanes, which every worker serves, and no trouble but faults.
    private static func plan(_ seed: UInt64, _ faults: [Fault] = []) -> WorldPlan {
        var plan = WorldPlan(seed: seed, features: [])
        plan.options.requestLanes = [.urgent, .normal, .bulk]
        plan.options.servedLanes = [plan.options.requestLanes]
        plan.options.publishesAll = true
        plan.options.isPunctual = true
        plan.options.tellsAcknowledgements = true
        plan.options.policy = .resend
        plan.options.invalidTokens = 0
        for index in plan.records.indices { plan.records[index].lane = plan.options.requestLanes[index % 3] }
        plan.faults = faults
        return plan
    }

    @Test(
        "Lanes with workers of their own, and levers of single lanes, break nothing",
        arguments: 1...30 as ClosedRange<UInt64>
    )
    func seeds(seed: UInt64) {
        let plan = Self.chosen(seed)
        #expect(plan.options.requestLanes.count >= 2)
        let served = Set(plan.options.servedLanes.joined())
        #expect(served == Set(plan.options.requestLanes))
        #expect(World(plan).run().violation == nil)
    }

    @Test("Partitions of all lanes have numbers of their own, which lead back to their Kafka topics")
    func numbers() {
        let map = LaneMap([.urgent, .bulk], partitions: 3)
        for partition in 0..<Int32(map.count) {
            #expect(map.number(of: map.place(of: partition)) == partition)
            #expect(map.partitions(of: map.lane(of: partition)).contains(partition))
        }
        #expect(Set((0..<Int32(map.count)).map(map.place)).count == 6)
        #expect(map.number(of: LaneMap([.normal], partitions: 3).place(of: 0)) == nil)
    }

    @Test("A process that is killed takes the shards of all its lanes along")
    func killed() {
        let world = World(Self.plan(1))
        world.startWorker(slot: 0)
        let workers = world.workers
        #expect(workers.count == 3)
        world.processes[0].crash()
        #expect(workers.allSatisfy { $0.consumer.isGone && !$0.isRunning } && world.workers.isEmpty)
    }

    @Test("The only worker of a lane dies, and another one takes its requests up later")
    func onlyOne() {
        for seed in 1...6 as ClosedRange<UInt64> {
            let crash = Fault(.crash, at: .seconds(2), lasting: .seconds(15), worker: 1)
            var plan = Self.plan(seed, [crash])
            plan.options.workers = 2
            plan.options.servedLanes = [[.urgent, .normal], [.bulk]]
            let world = World(plan)
            #expect(world.run().violation == nil)
            let isLate = world.auditor.notifications.contains { entry in
                plan.records[entry.record].lane == .bulk && entry.acceptedAt ?? 0 > World.start + .seconds(17)
            }
            #expect(isLate)
        }
    }

    @Test("A lane that is paused sends nothing, while the others go on")
    func paused() {
        for seed in 1...6 as ClosedRange<UInt64> {
            let pauses = (0..<WorldPlan.plainTopics).map { topic in
                Fault(.paused, at: .milliseconds(1), lasting: .seconds(60), topic: topic, lane: .bulk)
            }
            let plan = Self.plan(seed, pauses)
            let world = World(plan)
            #expect(world.run().violation == nil)
            // Workers read levers within two seconds.
            let (begin, end) = (World.start + .seconds(4), World.start + .seconds(60))
            var later = 0
            for entry in world.auditor.notifications {
                guard let time = entry.acceptedAt else { continue }
                let isPaused = plan.records[entry.record].lane == .bulk
                let isInTime = isPaused ? time < begin || end < time : time < end
                #expect(isInTime)
                later += isPaused && end < time ? 1 : 0
            }
            #expect(later > 0)
        }
    }

    @Test("A request that arrived in one lane is not sent from another")
    func repeated() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var plan = Self.plan(seed)
            plan.options.dedupeWindow = .seconds(3000)
            plan.records[0].request = 0
            var late = plan.records[0]
            late.lane = .bulk
            late.time = try #require(plan.records.last).time + .seconds(8)
            plan.records.append(late)
            let world = World(plan)
            #expect(world.run().violation == nil)
            let repetitions = world.auditor.notifications[world.auditor.firstOf[plan.records.count - 1]...]
            #expect(!repetitions.isEmpty && repetitions.allSatisfy { $0.accepted == 0 && $0.outcomeAt != nil })
        }
    }

    @Test("Urgent requests are on their way in time, however much the other lanes have waiting")
    func urgency() {
        var calm = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            let plan = Self.chosen(seed)
            guard plan.options.isCalm, calm < 10 else { continue }
            calm += 1
            #expect(plan.records.count { $0.lane == .urgent } > 10)
            #expect(World(plan).run().violation == nil, "seed \(seed)")
        }
        #expect(calm > 0)
    }
}
