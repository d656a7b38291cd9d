import Testing

@testable import belfry_simulate

/// The auditor notices when a quota of the urgent lane is not kept: each test breaks a rule about that.
@Suite struct AuditorQuotaTests {
    private typealias Bench = MoveBench

    @Test("Invariant 12 is broken if a record of an app without a quota is moved, or one that is within it")
    func withinQuota() throws {
        let without = try Bench(quota: nil)
        without.move()
        #expect(without.broken == 12)

        let tokens = without.world.plan.records[0].tokens.count
        let within = try Bench(quota: tokens)
        within.move()
        #expect(within.broken == 12)

        let over = try Bench(quota: tokens - 1)
        over.move()
        #expect(over.broken == nil)
    }

    @Test("What was moved counts no more towards what a worker has read, but for its own repetition")
    func moved() throws {
        let bench = try Bench(quota: 1, isSecondUrgent: true)
        bench.move()
        bench.world.publish(1)
        #expect(bench.broken == nil)
        bench.move(1)
        #expect(bench.broken == 12)

        let again = try Bench(quota: 1, hasBrokenProducer: true, isSecondUrgent: true)
        again.move()
        _ = again.auditor.moving(again.publication())
        #expect(again.broken == nil)
    }

    @Test("Invariant 12 is broken if a record is moved that came when its quota had room, however much was read before")
    func hadRoom() throws {
        for used in [0.0, 60] {
            let bench = try Bench(quota: 60)
            bench.auditor.moves.read[[bench.worker.number, bench.topic]] = 1000
            bench.auditor.moves.usedBefore[[0, bench.worker.number]] = used
            bench.move()
            #expect(bench.broken == (used == 0 ? 12 : nil))
        }
    }

    @Test("Invariant 12 is broken if more counts against a quota than it has room for, but for records that had begun")
    func overfull() throws {
        for isKnown in [true, false] {
            let bench = try Bench(quota: 60)
            bench.auditor.count(60, ofTopic: bench.topic, by: bench.worker, isKnown: true)
            #expect(bench.broken == nil)
            bench.auditor.count(1, ofTopic: bench.topic, by: bench.worker, isKnown: isKnown)
            #expect(bench.broken == (isKnown ? 12 : nil))
        }
    }

    @Test("What counts against a quota drains evenly within a minute")
    func drain() {
        var use = Auditor.QuotaUse(most: 60, least: 10, drainedAt: 0)
        use.drain(60, until: .seconds(30))
        #expect(use.most == 30 && use.least == 0)
        use.drain(60, until: .seconds(20))
        #expect(use.most == 30)
    }
}
