import Testing

@testable import belfry_simulate

/// Worlds in which connections of the urgent lane are kept open though nothing is to be sent.
@Suite struct WarmWorldTests {
    /// A world as a seed would have it.
    private static func chosen(_ seed: UInt64) -> WorldPlan {
        var dice = Dice(seed: seed, stream: 9)
        var plan = WorldPlan(seed: seed, features: [])
        plan.chooseLanes(&dice)
        plan.chooseWarmth(&dice)
        return plan
    }

    /// Milliseconds at which a line of a story happened.
    private static func milliseconds(_ line: String) -> Int { Int(line.prefix(while: \.isNumber)) ?? .max }

    @Test(
        "Topics that are kept warm, with troubles while nothing is to be sent, break nothing",
        arguments: 1...30 as ClosedRange<UInt64>
    )
    func seeds(seed: UInt64) {
        let plan = Self.chosen(seed)
        #expect(plan.options.warm.isEmpty == !plan.options.requestLanes.contains(.urgent))
        #expect(World(plan).run().violation == nil)
    }

    @Test("A topic that is kept warm has a connection long before its first request")
    func early() throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var dice = Dice(seed: seed)
            var plan = WorldPlan(seed: seed, features: [])
            plan.options.requestLanes = [.urgent, .normal]
            plan.options.servedLanes = [plan.options.requestLanes]
            plan.addLateTopic(&dice)
            plan.faults = []
            let late = try #require(plan.options.lateTopic)
            let report = World(plan, tells: true).run()
            #expect(report.violation == nil)
            let openings = report.story.filter { $0.contains(" opened \(late).") }.map(Self.milliseconds)
            let first = try #require(plan.records.first { $0.topic == late }).time / .milliseconds(1)
            #expect(openings.contains { $0 < Int(first) - 1000 }, "seed \(seed)")
        }
    }

    @Test("Troubles while nothing was to be sent delay no urgent notification")
    func calm() {
        var calm = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            let plan = Self.chosen(seed)
            guard plan.options.isCalm, calm < 10 else { continue }
            calm += 1
            #expect(plan.options.lateTopic != nil && !plan.faults.isEmpty)
            #expect(World(plan).run().violation == nil, "seed \(seed)")
        }
        #expect(calm > 0)
    }
}
