import PushSchemas
import Testing

@testable import KafkaClient
@testable import belfry_simulate

/// Logs that lose their end to the election of a leader, and grow again at the same offsets.
@Suite struct CutLogTests {
    private static func plan(_ seed: UInt64, _ faults: [Fault]) -> WorldPlan {
        var plan = WorldPlan(seed: seed, features: [])
        plan.options.publishesAll = true
        plan.options.isPunctual = true
        plan.options.policy = .resend
        plan.faults = faults
        return plan
    }

    @Test(
        "A worker whose client refuses a position tells it, an operator sets the partition, and nothing else is lost",
        arguments: [true, false]
    )
    func told(hasEpochs: Bool) {
        var (told, refilled) = (0, 0)
        for seed in 1...12 as ClosedRange<UInt64> {
            let cut = Fault(
                .logCut(records: 3, hasEpochs: hasEpochs),
                at: .seconds(2),
                lasting: .milliseconds(100 * Int(seed)),
                topic: Int(seed)
            )
            let world = World(Self.plan(seed, [cut]))
            #expect(world.run().violation == nil, "seed \(seed)")
            told += world.cutsCounted > 0 ? 1 : 0
            refilled += world.auditor.notifications.indices.contains(where: world.auditor.isReplacement) ? 1 : 0
        }
        #expect(told > 0 && refilled > 0)
    }

    @Test("Without epochs a client whose log has grown past its position reads on, and what it passed is lost")
    func silent() {
        var silent = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            let cut = Fault(.logCut(records: 1, hasEpochs: false), at: .seconds(2), lasting: .seconds(2))
            let world = World(Self.plan(seed, [cut]))
            #expect(world.run().violation == nil, "seed \(seed)")
            let auditor = world.auditor
            let isLost = auditor.notifications.indices.contains { number in
                auditor.mayBeUnread(number) && auditor.notifications[number].outcomeAt == nil
            }
            silent += isLost && world.cutsCounted == 0 ? 1 : 0
        }
        #expect(silent > 0)
    }

    /// A world in which two records of one partition were passed and then cut away, and two others have their offsets.
    private static func refilled() -> (world: World, partition: Int32, passed: Int64) {
        var plan = Self.plan(1, [])
        plan.records = (0..<4).map { place in
            var record = plan.records[0]
            record.time += .milliseconds(100) * VirtualTime(place)
            record.coalescingKey = 0
            return record
        }
        let world = World(plan)
        let partition = world.partition(ofRecord: 0)
        for record in 0..<2 { world.publish(record) }
        let passed = world.broker.end(of: partition)
        world.broker.restoreCommit(.init(offset: passed, metadata: ""), of: partition)
        world.cutLog(of: partition, records: 2, hasEpochs: false, for: 0)
        for record in 2..<4 { world.publish(record) }
        return (world, partition, passed)
    }

    @Test("Records at offsets that were passed are excused while no worker can know, and before an operator has come")
    func excuse() {
        let (world, partition, passed) = Self.refilled()
        let auditor = world.auditor
        let commit = {
            let consumer = world.makeWorker().consumer
            let position = KafkaPartitionOffset(
                topic: World.requests,
                partition: partition,
                offset: passed,
                metadata: ""
            )
            auditor.assigned(consumer, partition)
            auditor.committed(position, meaning: position, by: consumer)
        }
        #expect(auditor.isExcused(auditor.firstOf[0]) && auditor.isExcused(auditor.firstOf[2]))
        world.cutsCounted = 1
        commit()
        #expect(auditor.isExcused(auditor.firstOf[0]) && !auditor.isExcused(auditor.firstOf[2]))
        #expect(auditor.violation == nil)
        #expect(world.broker.mendCut() && world.broker.committed[partition]?.offset == 0)
        commit()
        #expect(auditor.violation?.invariant == 1)
    }

    @Test("Invariant 1 is broken by a worker whose client tells it of a cut, and which does not tell its operator")
    func silentWorker() {
        let (world, _, _) = Self.refilled()
        world.startWorker(slot: 0)
        world.workers[0].consumer.tellOfCut()
        let end = world.clock.now + Auditor.alarmPatience + .seconds(2)
        while world.clock.now < end, world.auditor.violation == nil, world.clock.step() {}
        #expect(world.auditor.violation?.rule.contains("tells nobody") == true)
    }
}
