import Testing

@testable import belfry_simulate

/// Appliers in simulated worlds: rebalances, kills, stops, standstills, and Redis, broker or records away.
@Suite struct ApplyingTests {
    @Test(
        "Every record is applied or a dead letter before it is committed past, and soon after the last fault",
        arguments: 0..<10 as Range<UInt64>
    )
    func worlds(group: UInt64) {
        for seed in group * 20..<(group + 1) * 20 {
            let report = ApplyingWorld(ApplyingPlan(seed: seed)).run()
            #expect(report.violation == nil, "seed \(seed)")
            #expect(report.events > 60, "seed \(seed)")
        }
    }

    @Test(
        "A process that is told to stop just when its group reports something ends, and loses nothing",
        arguments: 0..<8 as Range<UInt64>
    )
    func stopsAtReports(seed: UInt64) {
        for report in 1...10 {
            var plan = ApplyingPlan(seed: seed)
            plan.stopsAtReport = report
            #expect(ApplyingWorld(plan).run().violation == nil, "seed \(seed), report \(report)")
        }
    }

    @Test("Seeds of mistakes pass", arguments: [1426, 2968, 4208, 10_174, 16_265] as [UInt64])
    func knownSeeds(seed: UInt64) {
        #expect(ApplyingWorld(ApplyingPlan(seed: seed)).run().violation == nil)
    }

    @Test("A fail-over that loses changes is noticed where nothing is applied again")
    func failOver() {
        let plans = (0..<60 as Range<UInt64>).map { ApplyingPlan(seed: $0) }.filter { plan in
            plan.faults.contains { fault in
                if case .redisFailOver = fault.kind { true } else { false }
            }
        }
        let rules = plans.map { plan in
            var plan = plan
            plan.options.replays = false
            return ApplyingWorld(plan).run().violation?.rule
        }
        #expect(rules.contains(.progress))
    }

    @Test("The same seed does the same, event by event", arguments: [1, 2, 3, 40] as [UInt64])
    func determinism(seed: UInt64) {
        let report = ApplyingWorld(ApplyingPlan(seed: seed)).run()
        #expect(ApplyingWorld(ApplyingPlan(seed: seed)).run() == report)
        #expect(ApplyingWorld(ApplyingPlan(seed: seed + 1)).run().hash != report.hash)
    }

    @Test("Telling the story changes nothing")
    func story() {
        let plan = ApplyingPlan(seed: 5)
        let told = ApplyingWorld(plan, tells: true).run()
        #expect(told.hash == ApplyingWorld(plan).run().hash)
        #expect(told.story.count == told.events)
    }

    @Test("Seeds on several threads come to what they come to on one")
    func threads() {
        let worlds = ApplierWorlds()
        let one = Simulation(worlds: worlds, first: 100, count: 12, threads: 1, replayedPercent: 0).run { _, _ in }
        let four = Simulation(worlds: worlds, first: 100, count: 12, threads: 4, replayedPercent: 50).run { _, _ in }
        #expect(one.failed == [] && four.failed == [] && four.unstable == [])
        #expect(one.hash == four.hash && one.events == four.events)
        #expect(four.replayed == 12)
    }

    @Test("A world that has ended leaves nothing in memory, so that any number can be played")
    func memory() {
        for seed in 0..<40 as Range<UInt64> {
            weak var world: ApplyingWorld?
            // Every loop, and so every client of every process, holds it.
            weak var clock: VirtualClock?
            func play() {
                let played = ApplyingWorld(ApplyingPlan(seed: seed))
                _ = played.run()
                world = played
                clock = played.clock
            }
            play()
            #expect(world == nil && clock == nil, "seed \(seed)")
        }
    }

    @Test("Among the first plans is every make of world and every fault")
    func variety() {
        let plans = (0..<200).map { ApplyingPlan(seed: $0) }
        let options = plans.map(\.options)
        #expect(options.contains { $0.registrars > $0.partitions } && options.contains { $0.harvesters == 0 })
        #expect(options.contains { !$0.isStatic && $0.isCooperative })
        #expect(options.contains { $0.isStatic && $0.isCooperative })
        #expect(options.contains { $0.isStatic && !$0.isCooperative })
        #expect(options.contains { $0.replays } && options.contains { !$0.replays })
        #expect(options.contains { $0.hasFollower } && options.contains { !$0.refused.isEmpty })
        let faults = Set(plans.flatMap(\.faults).map { "\($0.kind)".prefix { $0 != "(" } })
        #expect(faults.count == 13)
        for source in ApplyingSource.allCases {
            #expect(plans.contains { $0.records.contains { $0.source == source } })
        }
        #expect(plans.allSatisfy { plan in plan.records.allSatisfy { plan.options.sources.contains($0.source) } })
    }
}
