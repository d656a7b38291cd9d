import Testing

@testable import belfry_simulate

/// Worlds in which apps have quotas of the urgent lane.
@Suite struct QuotaWorldTests {
    /// A world as a seed would have it.
    private static func chosen(_ seed: UInt64) -> WorldPlan {
        var dice = Dice(seed: seed, stream: 9)
        var plan = WorldPlan(seed: seed, features: [])
        plan.chooseLanes(&dice)
        plan.chooseQuotas(&dice)
        return plan
    }

    /// An urgent and a normal lane, which every worker serves, and no trouble but faults. One app has a quota.
    private static func plan(_ seed: UInt64, quota: Int, _ faults: [Fault] = []) -> WorldPlan {
        var plan = WorldPlan(seed: seed, features: [])
        plan.options.requestLanes = [.urgent, .normal]
        plan.options.servedLanes = [plan.options.requestLanes]
        plan.options.publishesAll = true
        plan.options.isPunctual = true
        plan.options.tellsAcknowledgements = true
        plan.options.policy = .resend
        plan.options.invalidTokens = 0
        plan.options.coalescingKeys = 0
        plan.options.quotas = [0: quota]
        for index in plan.records.indices {
            plan.records[index].lane = index.isMultiple(of: 2) ? .urgent : .normal
            plan.records[index].coalescingKey = 0
            plan.records[index].backdated = 0
        }
        plan.faults = faults
        return plan
    }

    /// The records that were moved, each as often as there are copies.
    private static func moved(in world: World) -> [Int] {
        world.records[world.plan.records.count...].compactMap { $0.moved?.from }
    }

    @Test(
        "Quotas that are exceeded, also while workers die and brokers refuse the normal lane, break nothing",
        arguments: 1...30 as ClosedRange<UInt64>
    )
    func seeds(seed: UInt64) {
        let plan = Self.chosen(seed)
        #expect(World(plan).run().violation == nil)
    }

    @Test("Seeds choose quotas where there are an urgent and a normal lane, and records are moved")
    func choice() {
        var copies = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            let plan = Self.chosen(seed)
            let lanes = plan.options.requestLanes
            #expect(plan.options.quotas.isEmpty || lanes.contains(.urgent) && lanes.contains(.normal))
            let world = World(plan)
            #expect(world.run().violation == nil)
            copies += Self.moved(in: world).count
        }
        #expect(copies > 0)
    }

    @Test("Of an app with a quota of 0 all urgent records are moved, and are sent from the normal lane; of others none")
    func none() {
        for seed in 1...4 as ClosedRange<UInt64> {
            let world = World(Self.plan(seed, quota: 0))
            #expect(world.run().violation == nil)
            let records = world.plan.records
            let over = records.indices.filter { records[$0].topic == 0 && records[$0].lane == .urgent }
            #expect(!over.isEmpty && Set(Self.moved(in: world)) == Set(over))
            let asExpected = world.auditor.notifications.allSatisfy { ($0.accepted > 0) != over.contains($0.record) }
            #expect(asExpected)
        }
    }

    @Test("A worker that dies before it knows of its moves is followed by one that moves again, and nothing is lost")
    func moveTwice() {
        var repeated = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            let late = Fault(.acknowledgementsLate, at: .milliseconds(500), lasting: .seconds(4))
            let crash = Fault(.crash, at: .milliseconds(1500 + 100 * Int(seed)), lasting: .milliseconds(200))
            let world = World(Self.plan(seed, quota: 0, [late, crash]))
            #expect(world.run().violation == nil, "seed \(seed)")
            let moved = Self.moved(in: world)
            repeated += moved.count - Set(moved).count
        }
        #expect(repeated > 0)
    }

    @Test("With requests remembered, what was moved twice is not sent again once it has arrived")
    func remembered() {
        for seed in 1...6 as ClosedRange<UInt64> {
            let late = Fault(.acknowledgementsLate, at: .milliseconds(500), lasting: .seconds(4))
            let crash = Fault(.crash, at: .milliseconds(1500 + 100 * Int(seed)), lasting: .milliseconds(200))
            var plan = Self.plan(seed, quota: 0, [late, crash])
            plan.options.dedupeWindow = .seconds(3000)
            #expect(World(plan).run().violation == nil, "seed \(seed)")
        }
    }

    @Test("While brokers refuse the normal lane, what is over the quota is sent as urgent", arguments: [true, false])
    func refused(isUnknown: Bool) {
        for seed in 1...4 as ClosedRange<UInt64> {
            let kind = Fault.Kind.publishingRefused(isUnknown: isUnknown)
            let refusal = Fault(kind, at: 0, lasting: .seconds(60), topic: World.movesNumber)
            let world = World(Self.plan(seed, quota: 0, [refusal]))
            #expect(world.run().violation == nil, "seed \(seed)")
            #expect(Self.moved(in: world).isEmpty)
            #expect(world.auditor.notifications.allSatisfy { $0.accepted > 0 })
        }
    }

    @Test("Workers that differ in their knowledge of quotas follow each other, and nothing is lost")
    func changedQuotas() {
        for seed in 1...8 as ClosedRange<UInt64> {
            let crashes = (1...3).map { Fault(.crash, at: .seconds($0), lasting: .milliseconds(300), worker: $0) }
            var plan = Self.plan(seed, quota: 5, crashes)
            plan.options.changesQuotas = true
            #expect(World(plan).run().violation == nil, "seed \(seed)")
        }
    }
}
